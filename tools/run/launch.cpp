#include "launch.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "confine.hpp"
#include "filter.hpp"
#include "processes.hpp"
#include "tiffany/base/environment.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::size_t kLongestSecret = 64 * 1024;

std::string value_of(const exec::Secret& secret) {
  const std::string of = "the secret of the variable " + secret.name;
  if (!secret.variable.empty()) {
    const char* const value = std::getenv(secret.variable.c_str());
    if (value != nullptr) return value;
    throw Refusal("The command was not started: " + of + " is in the variable " + secret.variable +
                  ", which the program that begins the command does not have. Set it there.");
  }
  std::optional<std::string> text;
  try {
    text = read_all(AT_FDCWD, secret.file.c_str(), kLongestSecret);
  } catch (const Refusal& why) {
    throw Refusal("The command was not started, because " + of + " is missing. " + why.what());
  }
  if (!text) {
    throw Refusal("The command was not started: " + of + " is in the file " + secret.file +
                  ", which does not exist.");
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->find('\0') != std::string::npos) {
    throw Refusal("The command was not started: " + of + " has a zero byte.");
  }
  return *text;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

// What failed in the child. The two share their memory until the child has become the command.
struct Failure {
  int error = 0;
  const char* what = nullptr;
};
// What the child needs, made before it is there: it allocates nothing.
struct Orders {
  const Launch& how;
  const exec::CommandLimits& limits;
  const Confinement* confinement;
  char* const* words;
  char* const* variables;
  const std::vector<std::string>& places;  // where the program may be
  std::vector<char*>& script;              // the words for a shell, for a script without a "#!"
  pid_t parent;
};
[[noreturn]] void give_up(volatile Failure& failure, const char* what) noexcept {
  failure.error = errno;
  failure.what = what;
  _exit(127);
}

void limit(volatile Failure& failure, int what, const std::optional<std::uint64_t>& to) noexcept {
  if (!to) return;
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(what), &now);
  rlimit next{*to, *to};
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < *to) next = {now.rlim_max, now.rlim_max};
  if (setrlimit(static_cast<__rlimit_resource>(what), &next) != 0) give_up(failure, "set a limit");
}

// As execvpe() does, with the PATH of the command.
void execute(const Orders& orders) noexcept {
  int error = ENOENT;
  for (const std::string& place : orders.places) {
    execve(place.c_str(), orders.words, orders.variables);
    if (errno == ENOEXEC) {
      orders.script[1] = const_cast<char*>(place.c_str());
      execve("/bin/sh", orders.script.data(), orders.variables);
    }
    if (errno == EACCES) error = EACCES;  // perhaps another place has it
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return;
  }
  errno = error;
}

// Everything else is closed by the exec: descriptors of this program have that flag anyway, those
// that it was started with may not.
void hand_down(const Launch& how, volatile Failure& failure) noexcept {
  int next = 3;
  for (const int each : how.hand_down) {
    if (dup2(each, next++) < 0) give_up(failure, "hand down a descriptor");
  }
  if (how.spec.sandbox_level() <= 0 && how.hand_down.empty()) return;
  constexpr unsigned kCloseAtExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, static_cast<unsigned>(next), ~0U, kCloseAtExec) == 0) return;
  for (int each = next; each < 4096; ++each) fcntl(each, F_SETFD, FD_CLOEXEC);  // an old kernel
}

[[noreturn]] void become(const Orders& orders, volatile Failure& failure) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != orders.parent) _exit(127);  // it died before it could be noticed
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (setsid() < 0) give_up(failure, "make a session");
  for (const int each : {SIGPIPE, SIGXFSZ}) std::signal(each, SIG_DFL);  // what main() ignores
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, 0) < 0 || dup2(orders.how.out, 1) < 0 ||
      dup2(orders.how.err, 2) < 0) {
    give_up(failure, "set its three streams");
  }
  if (input > 2) close(input);
  hand_down(orders.how, failure);
  const std::string& directory = orders.how.spec.directory;
  if (!directory.empty() && chdir(directory.c_str()) != 0) {
    give_up(failure, "enter its directory");
  }
  const exec::CommandLimits& limits = orders.limits;
  limit(failure, RLIMIT_CORE, 0);
  limit(failure, RLIMIT_CPU, limits.cpu_seconds);
  limit(failure, RLIMIT_FSIZE, limits.file_bytes);
  limit(failure, RLIMIT_NOFILE, limits.open_files);
  limit(failure, RLIMIT_NPROC, limits.processes);
  limit(failure, RLIMIT_AS, limits.memory_bytes);
  if (orders.confinement != nullptr) {
    const char* const problem = orders.confinement->enter();
    if (problem != nullptr) give_up(failure, problem);
  }
  execute(orders);
  give_up(failure, "start");
}

std::vector<std::string> places_of(const std::string& program, std::string_view path) {
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> places;
  for (;;) {
    const std::string_view each = path.substr(0, path.find(':'));
    places.push_back((each.empty() ? "." : std::string(each)) + "/" + program);
    if (each.size() == path.size()) return places;
    path.remove_prefix(each.size() + 1);
  }
}

}  // namespace

std::vector<std::string> environment_of(const exec::CommandSpec& spec,
                                        const CommandDirectory& directory, Scrubber& secrets) {
  std::map<std::string, std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    if (equals != std::string_view::npos && is_basic_variable(name)) {
      all[std::string(name)] = entry.substr(equals + 1);
    }
  }
  all.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (spec.sandbox_level() >= 2) {
    for (const char* const name : {"TMPDIR", "HOME"}) {
      all[name] = directory.path() + "/" + kPrivateDirectory;
    }
  }
  for (const auto& [name, value] : spec.environment) all[name] = value;
  for (const exec::Secret& secret : spec.secrets) {
    const std::string& value = all[secret.name] = value_of(secret);
    secrets.add(value);
  }
  all[kMarker] = directory.id();
  all["TIFFANY_OUTPUT"] = directory.path() + "/outputs";
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

// This process stands still until the child has become the command: no pages are copied. A function
// of its own, in which nothing else lives that the child could change.
[[gnu::noinline]] static pid_t begin_child(const Orders& orders, volatile Failure& failure) {
  const pid_t child = vfork();
  if (child == 0) become(orders, failure);
  return child;
}

namespace {

std::string problem_of(const exec::CommandSpec& spec, int error, std::string_view what) {
  if (what == "enter its directory") {
    return "The command could not enter its directory " + spec.directory + ": " +
           std::strerror(error) + ".";
  }
  std::string problem = "The command could not " + std::string(what) + ": " + spec.argv[0] + ": " +
                        std::strerror(error) + ".";
  if (error == ENOENT && what == "start") {
    problem += " No program of that name is in the PATH of the command.";
  }
  if (error == EACCES && what == "start" && spec.sandbox_level() >= 2) {
    problem += " Perhaps its sandbox does not let it be read: see Sandbox::read.";
  }
  return problem;
}

}  // namespace

Launched launch(const Launch& how) {
  const exec::CommandSpec& spec = how.spec;
  const std::vector<char*> words = pointers(spec.argv);
  const std::vector<char*> variables = pointers(how.environment);
  std::string_view path;
  for (const std::string& entry : how.environment) {
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  }
  const std::vector<std::string> places = places_of(spec.argv[0], path);
  std::string shell = "/bin/sh";
  std::vector<char*> script{shell.data(), nullptr};
  script.insert(script.end(), words.begin() + 1, words.end());
  Launched launched;
  for (bool notify = how.reach != nullptr && has_notify();; notify = false) {
    std::optional<Confinement> confinement;
    if (how.reach != nullptr) confinement.emplace(*how.reach, notify, how.tell);
    const exec::CommandLimits limits = limits_of(spec);
    const Orders orders{how,          limits,           confinement ? &*confinement : nullptr,
                        words.data(), variables.data(), places,
                        script,       getpid()};
    volatile Failure failure;
    launched.process = begin_child(orders, failure);
    if (launched.process < 0) refuse("make", "a process");
    if (failure.what == nullptr) return launched;
    waitpid(launched.process, nullptr, 0);
    // Whoever runs this program has a filter that asks, too, and there may be only one.
    if (notify && failure.error == EBUSY && failure.what == kEnterFilter) continue;
    launched.problem = problem_of(spec, failure.error, failure.what);
    return launched;
  }
}

}  // namespace tiffany::supervisor
