#include "tiffany/wal/verify.hpp"

#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/wal/log_view.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::wal {
namespace {

class Verifier {
 public:
  Verifier(Disk& disk, const std::string& directory, Layout layout)
      : disk_(disk), directory_(directory), view_(disk, directory, layout) {}

  Verification run() {
    for (const Damage& damage : view_.index().damage) found_.faults.push_back(damage.text());
    for (const auto& task : view_.index().tasks) {
      if (task->quarantine.empty()) continue;
      found_.faults.push_back("task " + task->id.text() +
                              " would be quarantined: " + task->quarantine);
    }
    for (const Uuid& task : view_.tasks(true)) {
      const bool archived = view_.index().find(task) == nullptr;
      if (archived) ++found_.archived;
      read(task, archived);
    }
    view_.forget();
    found_.values = names_.size();
    for (const auto& [name, task] : names_) check_value(name, task);
    found_.index = std::move(view_).take_index();
    return std::move(found_);
  }

 private:
  void read(const Uuid& task, bool archived) {
    std::vector<std::string> lines;
    try {
      lines = view_.lines(task);
    } catch (const Error& error) {
      found_.faults.emplace_back(error.what());
      return;
    }
    bool ended = false;
    for (const std::string& line : lines) {
      const RecordView view = view_of(line);
      ended = ended || view.type == RecordType::TaskExit || view.type == RecordType::TaskAbort;
      std::unordered_set<std::string> names;
      find_references(view.payload, names);
      for (const std::string& name : names) names_.emplace(name, task);
    }
    if (archived && !ended) {
      found_.faults.push_back(directory_ + "/archive/" + task.text() +
                              ".wal: expected the end of a task, found none.");
    }
  }

  void check_value(const std::string& name, const Uuid& task) {
    try {
      value_of(disk_, directory_, value_reference(name, 0));
    } catch (const Error& error) {
      found_.faults.push_back(std::string(error.what()) + " Task " + task.text() + " needs it.");
    }
  }

  Disk& disk_;
  const std::string& directory_;
  LogView view_;
  Verification found_;
  std::map<std::string, Uuid> names_;  // of values, and of a task that needs each
};

}  // namespace

Verification verify(Disk& disk, const std::string& directory) {
  const std::optional<Layout> layout = layout_of(disk, directory);
  if (!layout) {
    throw Error(Errc::not_a_log,
                directory +
                    " holds no log: neither a segment (00000001.journal) nor the file of a task "
                    "(<uuid>.wal) is there. If there was a log, its files are gone.");
  }
  return Verifier(disk, directory, *layout).run();
}

}  // namespace tiffany::wal
