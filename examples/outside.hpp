// What the world outside keeps of an example that is killed: what was done there, by key. In
// memory, where CrashTest kills; in a directory, where SIGKILL does (./dev soak examples).
#pragma once

#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

class Outside {
 public:
  // A second time with the same key changes nothing but the count.
  void add(const std::string& key) { change('+', key); }
  void remove(const std::string& key) { change('-', key); }
  void clear() { kept_.clear(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }

  // One life of the process: `program`, a Task<void> of a Host&, with a log and the keys in that
  // directory, until its end; then prints the keys. What is awaited takes no time: the clock is
  // virtual, and goes on from the last record of the log.
  template <class Program>
  int live_in(const std::string& directory, tiffany::Registry types, Program program) {
    std::ifstream before(directory + "/outside.txt");
    for (std::string line; std::getline(before, line);) take(line[0], line.substr(1));
    file_ = std::fopen((directory + "/outside.txt").c_str(), "a");
    if (file_ == nullptr) throw std::runtime_error("cannot write below " + directory);
    tiffany::Host host(types, tiffany::wal::LogOptions(directory + "/wal"));
    const int code =
        tiffany::run(run_in(&host, std::move(program)), tiffany::Options().virtual_time());
    for (const auto& [key, times] : kept_) std::printf("%s\n", key.c_str());
    std::fclose(std::exchange(file_, nullptr));
    return code;
  }

 private:
  template <class Program>
  static tiffany::Task<void> run_in(tiffany::Host* host, Program program) {
    co_await host->open();
    co_await program(*host);
    co_await host->close();
  }
  // One write for each line: a process that is killed has written all of it, or nothing.
  void change(char what, const std::string& key) {
    take(what, key);
    if (file_ == nullptr) return;
    std::fprintf(file_, "%c%s\n", what, key.c_str());
    std::fflush(file_);
  }
  void take(char what, const std::string& key) {
    if (what == '+') ++kept_[key];
    if (what == '-') kept_.erase(key);
  }

  std::map<std::string, int> kept_;  // how often each was added
  std::FILE* file_ = nullptr;
};
