#include "tiffany/wal/table_store.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::wal {

TableStore::TableStore(std::string name, std::uint64_t epoch, bool writes)
    : RecordStore(std::move(name), epoch, WallClock(Scheduler::require("a store"), 0, 0)),
      scheduler_(Scheduler::require("a store")),
      writes_(writes) {}
TableStore::~TableStore() = default;

void TableStore::load(std::int64_t epoch_time, bool shut_down) {
  found_.shut_down = shut_down;
  for (const std::string& id : keys(Table::records)) {
    StoredTask& task = add(Uuid::parse(id).value());
    for (const std::string& line : read(task)) {
      const RecordView view = view_of(line);
      note_record(task, view);
      found_.last_time = std::max(found_.last_time, parse_time(view.ts).value_or(0));
    }
    // A fork whose history is not complete was never acknowledged.
    if (task.last_seq >= task.forked_at) listed_.push_back(&task);
  }
  for (const std::string& id : keys(Table::retired)) retired_.insert(Uuid::parse(id).value());
  clock_ = WallClock(scheduler_, epoch_time, found_.last_time);
}

// ---- The claim ----

Task<void> TableStore::close() {
  co_await flush();
  sealed_ = std::make_exception_ptr(Error(Errc::log_sealed, "The store " + name_ + " is closed."));
  closed();
}

void TableStore::abandon() noexcept {
  if (sealed_ != nullptr) return;
  seal(std::make_exception_ptr(Error(Errc::log_sealed, "The store " + name_ + " was left.")));
}

// What was not committed goes, as the next claim would have it.
void TableStore::seal(std::exception_ptr why) noexcept {
  if (writes_ && owned()) roll_back();
  sealed_ = std::move(why);
}

// ---- Tasks and their records ----

StoredTask& TableStore::add(const Uuid& id) {
  std::unique_ptr<StoredTask>& task = tasks_[id];
  if (task == nullptr) task = std::make_unique<StoredTask>();
  task->id = id;
  return *task;
}

std::uint64_t TableStore::append(StoredTask& task, Entry entry, Level level, Ticket* ticket) {
  constexpr std::size_t kRestOfLine = 400;  // what a line has besides its payload, at most
  require_open();
  if (!writes_) return ++task.last_seq;
  if (entry.payload.size() > kLongestLine - kRestOfLine) {
    throw Error(Errc::bad_argument, "A record of " + std::to_string(entry.payload.size()) +
                                        " bytes is too long for the store " + name_ + ".");
  }
  entry.seq = task.last_seq + 1;
  std::string line;
  append_line(line, entry, text_of_time(clock_.now()), 0, false);
  change([&] {
    insert(task, entry.seq, line);
    if (entry.type == RecordType::Checkpoint) remove(Table::records, task.id.text(), 2, entry.seq);
  });
  if (ticket != nullptr) tickets_.push(*ticket);
  if (level == Level::sync) hurry();
  return entry.seq;
}

void TableStore::append_copy(StoredTask& task, std::string_view line) {
  require_open();
  const std::string copy = reseeded(line.substr(0, line.size() - 1), 0);
  if (!writes_) {
    task.last_seq = view_of(copy).seq;
    return;
  }
  change([&] { insert(task, view_of(copy).seq, copy); });
}

// Part of a change may be in the transaction when it fails, and another process may own the rest:
// nothing more is accepted, so that no code acts upon what the next claim does not find.
template <class F>
void TableStore::change(const F& rows) {
  try {
    rows();
  } catch (...) {
    seal(std::current_exception());
    throw;
  }
}

void TableStore::insert(StoredTask& task, std::uint64_t seq, const std::string& line) {
  if (!owned()) {
    throw Error(Errc::log_fenced, "Another process has claimed the store " + name_ + ".");
  }
  put(Table::records, task.id.text(), seq, line);
  counters_.records += 1;
  counters_.bytes += line.size();
  task.last_seq = seq;
}

std::vector<std::string> TableStore::read(const StoredTask& task) {
  return get(Table::records, task.id.text());
}

// ---- Commits ----

// Says so when the commit does not come to pass: the task is cancelled before it begins.
class TableStore::Writing {
 public:
  explicit Writing(std::shared_ptr<TableStore> store) noexcept : store_(std::move(store)) {}
  Writing(Writing&&) noexcept = default;
  Writing& operator=(Writing&&) = delete;
  ~Writing() {
    if (store_ != nullptr && !begun_) store_->give_up();
  }
  TableStore& store() const noexcept { return *store_; }
  void begin() noexcept { begun_ = true; }

 private:
  std::shared_ptr<TableStore> store_;
  bool begun_ = false;
};

void TableStore::hurry() {
  if (!writes_ || std::exchange(writing_, true)) return;
  scheduler_.spawn.system()(&TableStore::write_once, Writing(shared_from_this()));
}

void TableStore::give_up() noexcept {
  writing_ = false;
  if (sealed_ == nullptr) {
    seal(std::make_exception_ptr(Error(
        Errc::log_sealed, "The task that commits to the store " + name_ + " was cancelled.")));
  }
  tell_all(sealed_);
}

void TableStore::tell_all(const std::exception_ptr& error) noexcept {
  TicketList told;
  told.take(tickets_);
  while (Ticket* const ticket = told.pop()) ticket->synced(error);
}

Task<void> TableStore::flush() {
  require_open();
  if (!writes_) co_return;
  Synced synced;
  tickets_.push(synced);
  hurry();
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
}

Task<void> TableStore::write_once(Writing writing) {
  writing.begin();
  co_await shield(writing.store().write());
}

Task<void> TableStore::write() {
  co_await sleep_until(scheduler_.now());  // what is ready has its turn, and shares the commit
  writing_ = false;                        // those who are told may append, and want another commit
  if (sealed_ == nullptr) {
    try {
      if (!owned()) {
        throw Error(Errc::log_fenced, "Another process has claimed the store " + name_ + ".");
      }
      commit();
      ++counters_.syncs;
    } catch (...) {
      seal(std::current_exception());
    }
  }
  tell_all(sealed_);
}

// ---- Long values ----

void TableStore::keep_value(std::string& payload, const std::string& value) {
  if (!belongs_aside(value)) {
    payload += value;
    return;
  }
  const std::string name = value_name(value);
  if (writes_) change([&] { put(Table::values, name, 0, value); });
  payload += value_reference(name, value.size());
}

std::string TableStore::kept_value(std::string_view json) {
  if (!belongs_aside(json)) return std::string(json);
  std::unordered_set<std::string> names;
  find_values(json, names);
  std::vector<std::string> rows;
  if (!names.empty()) rows = get(Table::values, *names.begin());
  if (!rows.empty()) return std::move(rows.front());
  throw Error(Errc::log_damaged, "The store " + name_ + " does not have a value that a record " +
                                     "names: " + std::string(json));
}

Task<std::size_t> TableStore::remove_unused_values() {
  std::unordered_set<std::string> needed;
  for (const Table table : {Table::records, Table::archive}) {
    for (const std::string& key : keys(table)) {
      for (const std::string& text : get(table, key)) find_values(text, needed);
    }
  }
  std::size_t removed = 0;
  for (const std::string& name : keys(Table::values)) {
    if (needed.contains(name)) continue;
    remove(Table::values, name);
    ++removed;
  }
  co_await flush();
  co_return removed;
}

// ---- The archive ----

Task<std::vector<RecordStore::Copied>> TableStore::archive(std::vector<const StoredTask*> tasks) {
  std::vector<Copied> copied;
  for (const StoredTask* task : tasks) {
    std::string lines;
    for (const std::string& line : read(*task)) lines += line;
    put(Table::archive, task->id.text(), 0, lines);
    copied.push_back({task->id, task->last_seq});
  }
  co_await flush();
  co_return copied;
}

Task<std::size_t> TableStore::drop(std::vector<Uuid> tasks) {
  for (const Uuid& id : tasks) {
    remove(Table::records, id.text());
    tasks_.erase(id);
  }
  co_await flush();
  co_return 0;
}

bool TableStore::archived(const Uuid& id) { return !get(Table::archive, id.text()).empty(); }

std::string TableStore::read_archived(const Uuid& id) {
  std::vector<std::string> rows = get(Table::archive, id.text());
  return rows.empty() ? std::string() : std::move(rows.front());
}

std::vector<ArchivedTask> TableStore::list_archive() {
  std::vector<ArchivedTask> all;
  for (const std::string& key : keys(Table::archive)) {
    const Uuid id = Uuid::parse(key).value();
    const std::string lines = read_archived(id);
    const std::string last = lines.substr(lines.rfind('\n', lines.size() - 2) + 1);
    all.push_back({id, parse_time(view_of(last).ts).value_or(0), lines.size()});
  }
  return all;
}

Task<std::size_t> TableStore::retire(std::vector<Uuid> ids, std::size_t most) {
  for (const Uuid& id : ids) {
    if (!retired(id)) put(Table::retired, id.text(), 0, id.text());
    remove(Table::archive, id.text());
    retired_.insert(id);
  }
  const std::vector<std::string> all = keys(Table::retired);
  const std::size_t gone = all.size() > most ? all.size() - most : 0;
  for (std::size_t i = 0; i < gone; ++i) {
    remove(Table::retired, all[i]);
    retired_.erase(Uuid::parse(all[i]).value());
  }
  co_await flush();
  co_return gone;
}

bool TableStore::retired(const Uuid& id) const noexcept { return retired_.contains(id); }

}  // namespace tiffany::wal
