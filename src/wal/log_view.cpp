#include "tiffany/wal/log_view.hpp"

#include <exception>
#include <utility>

#include "tiffany/base/error.hpp"

namespace tiffany::wal {

LogView::LogView(Disk& disk, std::string directory, Layout layout)
    : disk_(disk),
      directory_(std::move(directory)),
      layout_(layout),
      mark_(compaction_mark(disk, directory_)),
      index_(scan_beside_writer(disk, directory_, layout)),
      reader_(disk, directory_) {}

std::string LogView::archive_path(const Uuid& task) const {
  return directory_ + "/archive/" + task.text() + ".wal";
}

std::vector<Uuid> LogView::tasks(bool archived) const {
  std::vector<Uuid> all;
  for (const auto& task : index_.tasks) {
    if (!task->id.nil()) all.push_back(task->id);
  }
  if (!archived) return all;
  for (const std::string& name : disk_.list(directory_ + "/archive")) {
    if (!name.ends_with(".wal")) continue;
    const std::optional<Uuid> id = Uuid::parse(name.substr(0, name.size() - 4));
    if (id && index_.find(*id) == nullptr) all.push_back(*id);
  }
  return all;
}

bool LogView::has(const Uuid& task) const {
  return index_.find(task) != nullptr || disk_.exists(archive_path(task));
}

std::vector<std::string> LogView::archived_lines(const Uuid& task) const {
  const std::string path = archive_path(task);
  if (!disk_.exists(path)) {
    throw Error(Errc::unknown_durable, "The log in " + directory_ + " has no task " + task.text() +
                                           ", and neither has its archive.");
  }
  const auto content = disk_.read(path);
  std::string_view rest = content->bytes();
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    RecordView view;
    if (end == std::string_view::npos ||
        read_line(rest.substr(0, end), 0, view) != LineFault::none) {
      throw Error(Errc::log_damaged, path + ", line " + std::to_string(lines.size() + 1) +
                                         ": expected a record, found what is none.");
    }
    lines.emplace_back(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> LogView::lines(const Uuid& task) {
  for (std::string last;;) {
    const TaskLog* const known = index_.find(task);
    if (known == nullptr) return archived_lines(task);
    std::exception_ptr error;
    std::string sentence;
    try {
      return reader_.read_all(*known);
    } catch (const Error& failed) {
      error = std::current_exception();
      sentence = failed.what();
    }
    // Damage says the same twice; a record that was moved is found elsewhere.
    if (sentence == last) std::rethrow_exception(error);
    last = std::move(sentence);
    reader_.forget();
    if (layout_ == Layout::journal && compaction_mark(disk_, directory_) == mark_) continue;
    mark_ = compaction_mark(disk_, directory_);
    index_ = scan_beside_writer(disk_, directory_, layout_);
  }
}

}  // namespace tiffany::wal
