// Runs the programs of one suite beside each other, prints one table and writes one JSON file.
//
//   bench_report --rows FILE [--quick] [--only name[,name...]] --out FILE ours=PATH floor=PATH
//   [peer=PATH]...
//
// The rows of the suite are listed in a file, one name a line, in the order of the table. `ours`
// behind a name says that only Tiffany has it: there is nothing on the floor to compare with.
//
// Noise comes in stretches (a neighbour that is busy for a few seconds), so the programs take turns
// workload by workload, over several rounds, and the best of each counts. Where the kernel happens
// to put a program in memory makes a lasting difference, too: each round runs fresh copies.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

struct Program {
  std::string name;
  fs::path path;
};

struct Workload {
  std::string name;
  bool ours_alone = false;
};

bool is_peer(const Program& program) { return program.name != "ours" && program.name != "floor"; }

struct Setup {
  bool quick = false;
  std::vector<Workload> workloads;
  fs::path out;
  std::vector<Program> programs;

  // Peers take most of the time, and their noise matters least. Quick is over within a minute, full
  // in some seven.
  int rounds() const { return 3; }
  bool runs_in(int round, const Program& program) const {
    return !is_peer(program) || round <= (quick ? 1 : 2);
  }
  // Each once, although several programs may have its name.
  std::vector<std::string> peers() const {
    std::vector<std::string> names;
    for (const Program& program : programs) {
      const bool seen = std::find(names.begin(), names.end(), program.name) != names.end();
      if (is_peer(program) && !seen) names.push_back(program.name);
    }
    return names;
  }
  const char* runs(const Program& program) const { return quick || is_peer(program) ? "1" : "2"; }
};

// What one workload gave: its unit, and the best value of each program that has it. The more the
// better when it is something per second, the less the better when it is not.
struct Row {
  std::string unit;
  std::map<std::string, double> best;

  bool rate() const { return unit.ends_with("/s"); }
  void add(const std::string& program, double value) {
    const auto [entry, is_new] = best.emplace(program, value);
    if (is_new) return;
    entry->second = rate() ? std::max(entry->second, value) : std::min(entry->second, value);
  }
  std::optional<double> of(const std::string& program) const {
    const auto entry = best.find(program);
    return entry != best.end() ? std::optional(entry->second) : std::nullopt;
  }
};
using Rows = std::map<std::string, Row>;

// ---- Running

// What a program writes to its standard output. Its messages go where ours go.
std::string output_of(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  std::string output;
  char buffer[4096];
  for (ssize_t got = 0; failed == 0 && (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (failed == 0) waitpid(child, &status, 0);
  if (failed != 0 || status != 0) std::fprintf(stderr, "bench: %s failed\n", argv[0]);
  return output;
}

// What comes after `"key":` in one of our lines: {"name":"yield_1k","unit":"ns","value":10.10}
std::optional<std::string_view> after_key(std::string_view line, const std::string& key) {
  const std::string quoted = '"' + key + "\":";
  const std::size_t at = line.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + quoted.size());
}

// Programs without this workload print nothing.
void run_one(const Setup& setup, const Program& program, const std::string& workload, Row& row) {
  std::vector<std::string> command = {program.path, "--only", workload, "--runs",
                                      setup.runs(program)};
  if (setup.quick) command.push_back("--quick");
  const std::string line = output_of(command);
  const auto unit = after_key(line, "unit");
  const auto value = after_key(line, "value");
  if (!unit || !value) return;
  row.unit = unit->substr(1, unit->find('"', 1) - 1);
  row.add(program.name, std::strtod(std::string(*value).c_str(), nullptr));
}

std::vector<Program> fresh_copies(const Setup& setup, const fs::path& directory) {
  fs::remove_all(directory);
  fs::create_directories(directory);
  std::vector<Program> copies;
  for (const Program& program : setup.programs) {
    const fs::path copy = directory / program.path.filename();
    fs::copy_file(program.path, copy);
    copies.push_back({program.name, copy});
  }
  return copies;
}

Rows run_all(const Setup& setup) {
  Rows rows;
  for (int round = 1; round <= setup.rounds(); ++round) {
    const fs::path directory = setup.out.string() + ".round-" + std::to_string(round);
    const std::vector<Program> copies = fresh_copies(setup, directory);
    for (const Workload& workload : setup.workloads) {
      std::fprintf(stderr, "round %d of %d: %s\n", round, setup.rounds(), workload.name.c_str());
      for (const Program& copy : copies) {
        if (setup.runs_in(round, copy)) run_one(setup, copy, workload.name, rows[workload.name]);
      }
    }
    fs::remove_all(directory);
  }
  return rows;
}

// ---- Reporting

std::string number(std::optional<double> value, const char* format = "%.1f") {
  if (!value) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *b == 0) return std::nullopt;
  return *a / *b;
}

void print_table(const Setup& setup, const Rows& rows) {
  std::printf("%-18s %-7s %9s %9s %10s", "workload", "unit", "ours", "floor", "ours/floor");
  for (const std::string& peer : setup.peers()) {
    std::printf(" | %9s %10s", peer.c_str(), (peer + "/ours").c_str());
  }
  std::printf("\n");
  for (const Workload& workload : setup.workloads) {
    const Row& row = rows.at(workload.name);
    const auto ours = row.of("ours");
    const auto floor = row.of("floor");
    std::printf("%-18s %-7s %9s %9s %10s", workload.name.c_str(), row.unit.c_str(),
                number(ours).c_str(), number(floor).c_str(),
                number(ratio(ours, floor), "%.2f").c_str());
    for (const std::string& name : setup.peers()) {
      const auto peer = row.of(name);
      std::printf(" | %9s %10s", number(peer).c_str(), number(ratio(peer, ours), "%.2f").c_str());
    }
    std::printf("\n");
  }
}

std::string json(std::optional<double> value) { return value ? number(value, "%.2f") : "null"; }

void write_json(const Setup& setup, const Rows& rows) {
  std::ofstream out(setup.out);
  const char* between = "[\n";
  for (const Workload& workload : setup.workloads) {
    const Row& row = rows.at(workload.name);
    out << between << "  {\"name\": \"" << workload.name << "\", \"unit\": \"" << row.unit
        << "\", \"ours\": " << json(row.of("ours")) << ", \"floor\": " << json(row.of("floor"))
        << ", \"peers\": {";
    const char* comma = "";
    for (const std::string& peer : setup.peers()) {
      out << comma << '"' << peer << "\": " << json(row.of(peer));
      comma = ", ";
    }
    out << "}}";
    between = ",\n";
  }
  out << "\n]\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + setup.out.string());
}

// ---- The command line

[[noreturn]] void usage() {
  std::fputs(
      "usage: bench_report --rows FILE [--quick] [--only name[,name...]] --out FILE\n"
      "                    ours=PATH floor=PATH [peer=PATH]...\n",
      stderr);
  std::exit(2);
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(2);
}

std::vector<Workload> read_rows(const fs::path& path) {
  std::ifstream file(path);
  if (!file) fail("there are no rows in " + path.string());
  std::vector<Workload> workloads;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::string mark;
    words >> name >> mark;
    if (!name.empty() && name[0] != '#') workloads.push_back({name, mark == "ours"});
  }
  return workloads;
}

// Those that are named in a list with commas.
std::vector<Workload> only(const std::vector<Workload>& workloads, const std::string& list) {
  std::vector<Workload> chosen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const auto found = std::find_if(workloads.begin(), workloads.end(),
                                    [&](const Workload& one) { return one.name == name; });
    if (found == workloads.end()) fail("there is no workload \"" + name + "\"");
    chosen.push_back(*found);
    begin = end + 1;
  }
  return chosen;
}

Setup parse(int argc, char** argv) {
  Setup setup;
  std::string chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (word == "--quick") {
      setup.quick = true;
    } else if (word == "--only" && i + 1 < argc) {
      chosen = argv[++i];
    } else if (word == "--rows" && i + 1 < argc) {
      setup.workloads = read_rows(argv[++i]);
    } else if (word == "--out" && i + 1 < argc) {
      setup.out = argv[++i];
    } else if (word[0] != '-' && equals != std::string::npos) {
      setup.programs.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else {
      usage();
    }
  }
  if (setup.out.empty() || setup.programs.empty() || setup.workloads.empty()) usage();
  if (!chosen.empty()) setup.workloads = only(setup.workloads, chosen);
  return setup;
}

}  // namespace

int main(int argc, char** argv) {
  const Setup setup = parse(argc, argv);
  try {
    const Rows rows = run_all(setup);
    print_table(setup, rows);
    write_json(setup, rows);
    std::printf("\nBest of %d rounds%s; written to %s\n", setup.rounds(),
                setup.quick ? " (peers: 1)" : " (peers: 2)", setup.out.c_str());
    const auto is_complete = [&rows](const Workload& workload) {
      const Row& row = rows.at(workload.name);
      return row.of("ours") && (row.of("floor") || workload.ours_alone);
    };
    const bool complete = std::all_of(setup.workloads.begin(), setup.workloads.end(), is_complete);
    if (!complete) std::fputs("bench: a workload of ours or of the floor is missing\n", stderr);
    return complete ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
