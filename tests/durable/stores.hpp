// The stores that tests of durable tasks run over.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tiffany/wal/log_options.hpp"
namespace tiffany {

// Over SQLite; null where SQLite is not there (sqlite_store.cpp, no_database.cpp).
std::shared_ptr<wal::StoreProvider> database_provider();
// What the database in the place of that disk has of one task.
std::vector<std::string> database_lines(const std::shared_ptr<wal::Disk>& disk, const Uuid& task);

// A log in one of its layouts, or something else in the place of a log.
struct StoreKind {
  wal::Layout layout = wal::Layout::journal;
  bool database = false;
  // NOLINTNEXTLINE(google-explicit-constructor): most tests know layouts only
  operator wal::Layout() const noexcept { return layout; }

  std::shared_ptr<wal::StoreProvider> provider() const {
    return database ? database_provider() : nullptr;
  }
  friend std::ostream& operator<<(std::ostream& out, const StoreKind& kind) {
    return out << kind.text();
  }
  std::string text() const {
    if (database) return "database";
    return layout == wal::Layout::journal ? "journal" : "files";
  }
  static std::string name(const testing::TestParamInfo<StoreKind>& kind) {
    return kind.param.text();
  }
  static std::vector<StoreKind> logs() {
    return {{wal::Layout::journal, false}, {wal::Layout::files, false}};
  }
  static std::vector<StoreKind> all() {
    std::vector<StoreKind> kinds = logs();
    if (database_provider() != nullptr) kinds.push_back({wal::Layout::journal, true});
    return kinds;
  }
};

}  // namespace tiffany
