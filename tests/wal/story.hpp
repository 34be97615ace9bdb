// What the tests of the log write, and what must be found of it afterwards.
//
// The story is that of three tasks. One ends; two are still at it when the story ends. It fills
// several small segments, appends while a batch is being synced, closes the log, opens it again and
// goes on. In a third life everything is copied forward, and the segments before that are given
// free.
#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sanitized.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/values.hpp"
#include "wal/fault_disk.hpp"

namespace tiffany::wal::test {

inline constexpr const char* kDirectory = "wal";
inline constexpr std::size_t kSegment = 4096;

inline Uuid task_id(int which) {
  std::string text = "00000000-0000-4000-8000-000000000000";
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>('0' + which);
  return *Uuid::parse(text);
}

inline constexpr std::size_t kEvery = tiffany::test::kSlower;  // so many bytes one is tried

// A record, and whether anybody was told that it is safe.
class Told final : public Ticket {
 public:
  Told() = default;
  Told(const Told& other) { *this = other; }
  // What is known of the record; not that somebody waits for it.
  Told& operator=(const Told& other) {
    task = other.task;
    type = other.type;
    seq = other.seq;
    payload = other.payload;
    told = other.told;
    failed = other.failed;
    why = other.why;
    return *this;
  }
  void synced(std::exception_ptr error) noexcept override {
    (error == nullptr ? told : failed) = true;
    why = error;
  }
  Uuid task;
  RecordType type = RecordType::unknown;
  std::uint64_t seq = 0;
  std::string payload;
  bool told = false;
  bool failed = false;
  std::exception_ptr why;
};

class Story {
 public:
  // With a value that lies beside the log, or without.
  explicit Story(Layout layout, bool with_value = false)
      : layout_(layout), with_value_(with_value) {}

  LogOptions options(std::shared_ptr<FaultDisk> disk) const {
    LogOptions options(kDirectory);
    options.layout = layout_;
    options.segment_size = kSegment;
    options.disk = std::move(disk);
    options.epoch_time = 1'763'000'000'000'000;
    options.process = 4711;
    return options;
  }

  // Runs a program of its own on a scheduler of its own until it ends or the world does. Gives what
  // it threw.
  template <class F>
  static std::exception_ptr run(FaultDisk& disk, F program) {
    std::exception_ptr error;
    Scheduler scheduler(Options().virtual_time());  // goes first: the program ends with it
    auto handle = scheduler.spawn(&Story::call<F>, &program, &error);
    while (!handle.done() && !disk.ended()) {
      if (!scheduler.step() && !scheduler.poll(scheduler.now())) {
        scheduler.run_until(scheduler.now() + std::chrono::hours(1));
      }
    }
    return handle.done() ? error : std::make_exception_ptr(WorldEnded());
  }

  std::exception_ptr tell(const std::shared_ptr<FaultDisk>& disk) {
    return run(*disk, [this, disk]() -> Task<void> { return both_parts(disk); });
  }
  // Without the end: the log is not closed, and its last batch holds records of all three.
  std::exception_ptr tell_first_part(const std::shared_ptr<FaultDisk>& disk) {
    return run(*disk, [this, disk]() -> Task<void> { return first_part(disk, false); });
  }

  // Opens the log anew and writes one record more for each task that it finds in good order.
  std::exception_ptr go_on(const std::shared_ptr<FaultDisk>& disk) {
    return run(*disk, [this, disk]() -> Task<void> { return one_more_each(disk); });
  }

  void add(Log& log, TaskLog& task, RecordType type, Level level, std::size_t length = 260) {
    Told& record = records_.emplace_back();
    record.task = task.id;
    record.type = type;
    record.payload = "\"n\":" + std::to_string(records_.size()) + ",\"text\":\"" +
                     std::string(length, static_cast<char>('a' + records_.size() % 26)) + "\"";
    const std::string id = task.id.text();
    record.seq = task.last_seq + 1;
    Ticket* const ticket = level == Level::sync ? &record : nullptr;
    log.append(task, Entry{type, id, record.payload}, level, ticket);
  }

  void add_value(Log& log, TaskLog& task) {
    Told& record = records_.emplace_back();
    record.task = task.id;
    record.type = RecordType::StepEnd;
    record.payload = "\"result\":";
    log.add_value(record.payload, "\"" + std::string(70'000, 'v') + "\"");
    record.seq = task.last_seq + 1;
    const std::string id = task.id.text();
    log.append(task, Entry{record.type, id, record.payload}, Level::sync, &record);
  }

  std::deque<Told>& records() noexcept { return records_; }
  Layout layout() const noexcept { return layout_; }
  std::size_t opened() const noexcept { return opened_; }
  // Only so many have been written; the rest of the story is forgotten.
  void forget_after(std::size_t records) { records_.resize(records); }
  // Of a task, the last record that somebody knows to be safe.
  std::uint64_t safe(const Uuid& task) const {
    std::uint64_t last = 0;
    for (const Told& record : records_) {
      if (record.task == task && record.told) last = record.seq;
    }
    return last;
  }
  // All of them: what has been found once must be found again.
  void all_are_safe() {
    for (Told& record : records_) record.told = true;
  }

 private:
  template <class F>
  static Task<void> call(F* program, std::exception_ptr* error) {
    try {
      co_await (*program)();
    } catch (const std::exception&) {
      *error = std::current_exception();
    }
  }

  Task<void> both_parts(std::shared_ptr<FaultDisk> disk) {
    co_await first_part(disk, true);
    co_await one_more_each(disk);
    co_await one_more_each(disk, true);
  }

  Task<void> first_part(std::shared_ptr<FaultDisk> disk, bool close) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(options(disk), index);
    ++opened_;
    std::vector<TaskLog*> tasks;
    for (int i = 1; i <= 3; ++i) tasks.push_back(&index.at(task_id(i)));
    for (TaskLog* task : tasks) add(*log, *task, RecordType::Spawn, Level::sync);
    for (int round = 0; round < 8; ++round) {
      for (TaskLog* task : tasks) {
        if (task->ended) continue;
        add(*log, *task, RecordType::StepStart, round % 3 == 0 ? Level::lazy : Level::sync, 20);
        if (round % 2 == 0) co_await yield();
        add(*log, *task, RecordType::StepEnd, Level::sync,
            60 + 40 * static_cast<std::size_t>(round));
      }
      if (round == 4) {
        add(*log, *tasks[0], RecordType::TaskExit, Level::sync);
        tasks[0]->ended = true;
      }
      if (round == 2 && with_value_) add_value(*log, *tasks[2]);
      if (round % 3 == 1) co_await log->flush();
    }
    co_await log->flush();
    add(*log, *tasks[1], RecordType::Approval, Level::lazy);
    add(*log, *tasks[2], RecordType::Approval, Level::lazy);
    add(*log, *tasks[1], RecordType::Resumed, Level::sync);
    if (close) {
      co_await log->close();
    } else {
      co_await log->flush();
    }
  }

  Task<void> one_more_each(std::shared_ptr<FaultDisk> disk, bool compact = false) {
    LogIndex index;
    const std::shared_ptr<Log> log = co_await Log::open(options(disk), index);
    ++opened_;
    std::vector<TaskLog*> alive;
    for (const auto& task : index.tasks) {
      if (!task->id.nil() && !task->ended && task->quarantine.empty()) alive.push_back(task.get());
    }
    for (TaskLog* task : alive) add(*log, *task, RecordType::Resumed, Level::sync, 50);
    if (compact && layout_ == Layout::journal) {
      co_await log->flush();
      co_await copy_forward(*log, index);
    }
    co_await log->close();
  }

  static Task<void> copy_forward(Log& log, LogIndex& index) {
    log.begin_moving();
    for (const auto& task : index.tasks) {
      if (!task->id.nil()) log.move(*task);
    }
    co_await log.flush();
    co_await log.forget({});
  }

  Layout layout_;
  bool with_value_;
  std::deque<Told> records_;
  std::size_t opened_ = 0;
};

// What a scan says, beside what was written.
class Found {
 public:
  Found(FaultDisk& disk, Story& story) : index(scan(disk, kDirectory, story.layout())) {
    for (const auto& task : index.tasks) {
      if (task->id.nil()) continue;
      std::vector<const Told*> written;
      for (const Told& record : story.records()) {
        if (record.task == task->id) written.push_back(&record);
      }
      std::uint64_t last = 0;
      for (const std::string& line : LineReader(disk, kDirectory).read_all(*task)) {
        last = compare(line, written, last, task->id);
        find_value(disk, line);
      }
      found[task->id] = last;
      if (!contiguous.contains(task->id)) contiguous[task->id] = true;
    }
    for (const Told& record : story.records()) ids.insert(record.task);
    ids.erase(Uuid());
  }

  // Something is there that nobody wrote.
  std::string invented;
  LogIndex index;
  std::set<Uuid> ids;
  std::map<Uuid, std::uint64_t> found;  // the last record of each
  std::map<Uuid, bool> contiguous;      // and all before it

  bool complete(const Uuid& id, std::uint64_t last) const {
    const auto have = found.find(id);
    if (have == found.end()) return last == 0;
    return have->second >= last && contiguous.at(id);
  }
  bool quarantined(const Uuid& id) const {
    const TaskLog* task = index.find(id);
    return task != nullptr && !task->quarantine.empty();
  }

  // After a crash: everything that was told to be safe is there, and nothing is called damage.
  std::string after_crash(const Story& story) const {
    if (!invented.empty()) return invented;
    if (!index.damage.empty()) return "damage: " + index.damage.front().text();
    for (const Uuid& id : ids) {
      if (quarantined(id)) return "quarantined: " + index.find(id)->quarantine;
      if (!complete(id, story.safe(id))) return "a safe record is gone: " + state(id, story);
    }
    return {};
  }

  // After damage: what is missing is said to be, and nothing runs on it. `may_miss` is what may be
  // missing silently.
  std::string after_damage(const Story& story, const std::set<const Told*>& may_miss = {}) const {
    if (!invented.empty()) return invented;
    for (const Uuid& id : ids) {
      std::uint64_t needed = 0;
      for (const Told& record : story_records(story)) {
        if (record.task == id && record.told && !may_miss.contains(&record)) needed = record.seq;
      }
      if (complete(id, story.safe(id))) continue;
      if (complete(id, needed) && contiguous_or_absent(id)) continue;
      if (index.damage.empty()) return "lost and no damage reported: " + state(id, story);
      if (index.find(id) != nullptr && !quarantined(id)) {
        return "would run on damaged input: " + state(id, story);
      }
    }
    return {};
  }

 private:
  static const std::deque<Told>& story_records(const Story& story) {
    return const_cast<Story&>(story).records();
  }
  bool contiguous_or_absent(const Uuid& id) const {
    return !contiguous.contains(id) || contiguous.at(id);
  }
  std::string state(const Uuid& id, const Story& story) const {
    const auto have = found.find(id);
    return id.text() + " has " + std::to_string(have == found.end() ? 0 : have->second) + " of " +
           std::to_string(story.safe(id));
  }

  // A record that names a value is there only when the value is.
  void find_value(FaultDisk& disk, std::string_view line) {
    const std::size_t at = line.find("{\"$value\"");
    if (at == std::string_view::npos) return;
    try {
      value_of(disk, kDirectory, line.substr(at, line.find('}', at) + 1 - at));
    } catch (const Error& e) {
      invented = e.what();
    }
  }

  std::uint64_t compare(const std::string& line, const std::vector<const Told*>& written,
                        std::uint64_t last, const Uuid& id) {
    RecordView view;
    const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
    if (read_line(text, 0, view) != LineFault::none) {
      invented = "a line that is no record: " + line;
      return last;
    }
    if (view.seq != last + 1) contiguous[id] = false;
    const bool known = view.seq >= 1 && view.seq <= written.size() &&
                       written[view.seq - 1]->seq == view.seq &&
                       written[view.seq - 1]->payload == view.payload &&
                       written[view.seq - 1]->type == view.type && view.task == id.text();
    if (!known) invented = "a record that nobody wrote: " + line;
    return view.seq;
  }
};

}  // namespace tiffany::wal::test
