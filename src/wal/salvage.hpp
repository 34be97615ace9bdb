// What a repair finds in a damaged log: the records that are left, by task, and which tasks may
// have lost some. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tiffany/wal/log.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {

// All that is left of a log, and what is not.
class Salvage {
 public:
  Salvage(Disk& disk, std::string directory, LogIndex& index)
      : disk_(disk), directory_(std::move(directory)), index_(index) {}

  struct OfTask {
    std::map<std::uint64_t, std::string> lines;  // by their number; as in a file of the task
    std::string why;                             // it may have lost some
  };
  std::vector<Uuid> order;
  std::unordered_map<Uuid, OfTask, UuidHash> tasks;
  std::size_t mended = 0;

  void collect() {
    LineReader reader(disk_, directory_);
    for (const auto& task : index_.tasks) {
      if (task->id.nil()) continue;
      OfTask& own = at(task->id);
      for (const std::string& line : reader.read_all(*task)) own.lines[view_of(line).seq] = line;
      own.why = task->quarantine.empty() ? task->doubt : task->quarantine;
    }
    for (const Mended& line : index_.mended) {
      if (line.task.nil()) continue;
      if (at(line.task).lines.emplace(line.seq, line.line).second) ++mended;
    }
    for (auto& [id, own] : tasks) judge(id, own);
    if (!unnamed()) return;
    for (const Uuid& id : index_.named) suspect(id, "a damaged line of the log was a record of it");
    for (const Uuid& id : std::vector<Uuid>(order)) find_children(id);
  }
  // Some damage may have hurt tasks that nobody can name.
  bool unnamed() const {
    return std::any_of(index_.damage.begin(), index_.damage.end(),
                       [](const Damage& damage) { return !damage.task; });
  }

 private:
  OfTask& at(const Uuid& id) {
    const auto [own, first] = tasks.try_emplace(id);
    if (first) order.push_back(id);
    return own->second;
  }

  // One that has all its records again, because only single bits were wrong, has lost nothing.
  void judge(const Uuid& id, OfTask& own) {
    const bool hurt = std::any_of(index_.damage.begin(), index_.damage.end(), [&](const Damage& d) {
      return d.task ? *d.task == id : !own.why.empty();
    });
    const std::string gap = gap_of(own);
    if (!gap.empty()) {
      own.why = gap;
    } else if (!unnamed() && hurt && all_mended(id)) {
      own.why.clear();
    }
  }
  static std::string gap_of(const OfTask& own) {
    std::uint64_t next = 1;
    for (const auto& [seq, line] : own.lines) {
      if (seq != next && view_of(line).type != RecordType::Checkpoint) {
        return "its record " + std::to_string(next) + " is missing before " + std::to_string(seq);
      }
      next = seq + 1;
    }
    return {};
  }
  // Each damage of this task was a single bit.
  bool all_mended(const Uuid& id) const {
    const auto damaged = std::count_if(index_.damage.begin(), index_.damage.end(),
                                       [&](const Damage& d) { return d.task == id; });
    const auto right = std::count_if(index_.mended.begin(), index_.mended.end(),
                                     [&](const Mended& line) { return line.task == id; });
    return damaged == right;
  }
  void suspect(const Uuid& id, const std::string& why) {
    OfTask& own = at(id);
    if (own.why.empty()) own.why = why;
  }
  // A child that its parent has asked for and that is not here may have run.
  void find_children(const Uuid& parent) {
    constexpr std::string_view kSpawn = R"("op":"spawn")";
    constexpr std::string_view kChild = R"("child":")";
    std::vector<Uuid> children;
    for (const auto& [seq, line] : tasks.at(parent).lines) {
      const RecordView view = view_of(line);
      if (view.type != RecordType::Command || !view.payload.starts_with(kSpawn)) continue;
      const std::size_t at = view.payload.find(kChild);
      if (at == std::string_view::npos) continue;
      if (const auto id = Uuid::parse(view.payload.substr(at + kChild.size(), 36))) {
        children.push_back(*id);
      }
    }
    for (const Uuid& child : children) {
      const bool archived = disk_.exists(directory_ + "/archive/" + child.text() + ".wal");
      if (tasks.contains(child) || archived) continue;
      suspect(child,
              "its parent " + parent.text() + " has asked for it, and nothing of it is left");
    }
  }

  Disk& disk_;
  std::string directory_;
  LogIndex& index_;
};

}  // namespace tiffany::wal
