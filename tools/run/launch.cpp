#include "launch.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "processes.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::size_t kLongestSecret = 64 * 1024;

// The same names as in io/process.hpp: no secrets are kept under these.
bool is_basic(std::string_view name) noexcept {
  for (const std::string_view basic :
       {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"}) {
    if (name == basic) return true;
  }
  return name.starts_with("LC_");
}

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

// What failed in the child, for its parent.
struct Failure {
  int error = 0;
  char what[32] = {};
};
[[noreturn]] void give_up(int tell, const char* what) noexcept {
  Failure failure;
  failure.error = errno;
  std::strncpy(failure.what, what, sizeof failure.what - 1);
  static_cast<void>(!write(tell, &failure, sizeof failure));
  _exit(127);
}

void limit(int tell, int what, const std::optional<std::uint64_t>& to) noexcept {
  if (!to) return;
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(what), &now);
  rlimit next{*to, *to};
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < *to) next = {now.rlim_max, now.rlim_max};
  if (setrlimit(static_cast<__rlimit_resource>(what), &next) != 0) give_up(tell, "set a limit");
}

[[noreturn]] void become(const exec::CommandSpec& spec, char* const* words, char* const* variables,
                         const char* path, int out, int err, int tell, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before it could be noticed
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (setsid() < 0) give_up(tell, "make a session");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int each = 1; each < NSIG; ++each) std::signal(each, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) {
    give_up(tell, "set its three streams");
  }
  if (input > 2) close(input);
  if (!spec.directory.empty() && chdir(spec.directory.c_str()) != 0) {
    give_up(tell, "enter its directory");
  }
  const exec::CommandLimits& limits = spec.limits;
  limit(tell, RLIMIT_CORE, 0);
  limit(tell, RLIMIT_CPU, limits.cpu_seconds);
  limit(tell, RLIMIT_FSIZE, limits.file_bytes);
  limit(tell, RLIMIT_NOFILE, limits.open_files);
  limit(tell, RLIMIT_NPROC, limits.processes);
  limit(tell, RLIMIT_AS, limits.memory_bytes);
  setenv("PATH", path, 1);  // where execvpe looks
  execvpe(words[0], words, variables);
  give_up(tell, "start");
}

}  // namespace

std::vector<std::string> environment_of(const exec::CommandSpec& spec,
                                        const CommandDirectory& directory) {
  std::map<std::string, std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    if (equals != std::string_view::npos && is_basic(name)) {
      all[std::string(name)] = entry.substr(equals + 1);
    }
  }
  all.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  for (const auto& [name, value] : spec.environment) all[name] = value;
  for (const exec::Secret& secret : spec.secrets) all[secret.name] = value_of(secret);
  all[kMarker] = directory.id();
  all["TIFFANY_OUTPUT"] = directory.path() + "/outputs";
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

Launched launch(const exec::CommandSpec& spec, const std::vector<std::string>& environment,
                const Fd& out, const Fd& err) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
  const Fd hear(ends[0]);
  Fd tell(ends[1]);
  const std::vector<char*> words = pointers(spec.argv);
  const std::vector<char*> variables = pointers(environment);
  const char* path = "";
  for (const std::string& entry : environment) {
    if (entry.starts_with("PATH=")) path = entry.c_str() + 5;
  }
  const pid_t self = getpid();
  Launched launched;
  launched.process = fork();
  if (launched.process < 0) refuse("make", "a process");
  if (launched.process == 0) {
    become(spec, words.data(), variables.data(), path, out.get(), err.get(), tell.get(), self);
  }
  tell.close();
  Failure failure;
  ssize_t n = 0;
  while ((n = read(hear.get(), &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (n != static_cast<ssize_t>(sizeof failure)) return launched;
  waitpid(launched.process, nullptr, 0);
  launched.problem = std::string("The command could not ") + failure.what + ": " + spec.argv[0] +
                     ": " + std::strerror(failure.error) + ".";
  if (failure.error == ENOENT && std::string_view(failure.what) == "start") {
    launched.problem += " No program of that name is in the PATH of the command.";
  }
  if (std::string_view(failure.what) == "enter its directory") {
    launched.problem = "The command could not enter its directory " + spec.directory + ": " +
                       std::strerror(failure.error) + ".";
  }
  return launched;
}

}  // namespace tiffany::supervisor
