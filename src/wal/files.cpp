// A file for each task, <uuid>.wal. What waits at the same time is written to all of its files, and
// then all of them are synced, some at a time.
#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/semaphore.hpp"
#include "tiffany/wal/log.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kAtATime = 32;
constexpr std::size_t kMostOpen = 512;     // between two writes
constexpr std::size_t kMostWritten = 256;  // by one

class Files final : public Log {
 public:
  Files(Scheduler& scheduler, LogOptions options) : Log(scheduler, std::move(options)) {}

 private:
  struct OfTask {
    std::unique_ptr<DiskFile> file;
    bool queued = false;    // the last of the batches is his
    std::size_t batch = 0;  // which one, counted from the first that there ever was
  };

  Task<void> begin(const LogIndex& index) override {
    co_await settle(index);
    co_await write_sizes(index);
    const std::string nil = Uuid().text();
    const std::string payload = owner_payload(0, 0);
    append(own_, Entry{RecordType::Owner, nil, payload});
  }

  // What was found may be in a cache only, of the system or of its directory: nobody may act upon
  // it before it is on the disk. After a failed sync no other sync writes it, so what is not known
  // to be there is written again: of each file the last batch at most. And what was not finished
  // becomes zeros, so that nothing is left of it in what is written over it.
  Task<void> settle(const LogIndex& index) {
    Semaphore some(kAtATime);
    co_await scope([&](Scope& all) -> Task<void> {
      for (const auto& task : index.tasks) {
        if (task->unreadable) continue;
        if (!disk().exists(path(task->id))) continue;  // it is missing
        Semaphore::Permit permit = co_await some.acquire();
        all.spawn(&Files::settle_one, this, task.get(), std::move(permit));
      }
    });
    co_await disk().sync_directory(options_.directory);
  }
  Task<void> settle_one(const TaskLog* task, Semaphore::Permit) {
    const std::string where = path(task->id);
    std::string tail;
    {
      const auto content = disk().read(where);
      const std::string_view bytes = content->bytes();
      if (bytes.size() <= task->proven && task->proven == task->size) co_return;
      // What could not be read is not written over: the next attempt to read it may succeed.
      if (!content->unreadable().empty()) co_return;
      tail = bytes.substr(std::min<std::uint64_t>(task->proven, bytes.size()));
      const std::uint64_t valid = task->size - task->proven;
      if (valid < tail.size()) {
        tail.replace(valid, std::string::npos, std::string(tail.size() - valid, '\0'));
      }
    }
    const std::unique_ptr<DiskFile> file = disk().open(where);
    if (!tail.empty()) co_await file->write(task->proven, tail);
    co_await file->sync();
  }

  // Begins the file anew, with what is known now; from here on one line of it at a time is written.
  Task<void> write_sizes(const LogIndex& index) {
    std::string all;
    for (const auto& task : index.tasks) {
      if (task->size == 0) continue;
      lines_[task->id] = all.size();
      all += sizes_line(task->id, task->size);
    }
    sizes_end_ = all.size();
    if (disk().exists(path("sizes.new"))) co_await disk().remove(path("sizes.new"));
    std::unique_ptr<DiskFile> file = disk().open(path("sizes.new"));
    co_await file->write(0, all);
    co_await file->sync();
    co_await disk().rename(path("sizes.new"), path("sizes"));
    co_await disk().sync_directory(options_.directory);
    sizes_ = std::move(file);
  }
  void note_size(const Batch& batch) {
    const auto [line, first] = lines_.try_emplace(batch.task, sizes_end_);
    if (first) sizes_end_ += kSizesLine;
    sizes_->note(line->second, sizes_line(batch.task, batch.offset + batch.bytes.size()));
  }

  Task<void> end() override { co_return; }

  Task<void> forget(std::vector<Uuid> tasks) override {
    require_owner();
    // First nobody expects them any more, then they go.
    const std::string nothing(kSizesLine, ' ');
    for (const Uuid& task : tasks) {
      const auto line = lines_.find(task);
      if (line == lines_.end()) continue;
      co_await sizes_->write(line->second, nothing);
      lines_.erase(line);
    }
    if (!tasks.empty()) co_await sizes_->sync();
    for (const Uuid& task : tasks) {
      if (disk().exists(path(task))) co_await disk().remove(path(task));
    }
    if (!tasks.empty()) co_await disk().sync_directory(options_.directory);
  }
  const Batch* unwritten(const TaskLog& task, const Position& record) const noexcept override {
    for (const std::deque<Batch>* some : {&writing_, &batches_}) {
      for (const Batch& batch : *some) {
        if (batch.task == task.id && record.offset >= batch.offset &&
            record.offset - batch.offset < batch.bytes.size()) {
          return &batch;
        }
      }
    }
    return nullptr;
  }

  Batch& batch_for(TaskLog& task, std::size_t) override {
    if (task.unreadable) {
      throw Error(Errc::log_damaged, path(task.id) +
                                         " could not be read when the log was opened, so nothing "
                                         "can be written to it.");
    }
    OfTask& own = of_task_[task.id];
    if (own.queued && own.batch >= taken_) return batches_[own.batch - taken_];
    batches_.emplace_back();
    batches_.back().task = task.id;
    batches_.back().offset = task.size;
    own.queued = true;
    own.batch = taken_ + batches_.size() - 1;
    return batches_.back();
  }
  std::uint32_t seed_of(const Batch&) const noexcept override { return 0; }
  Batch* last_batch() noexcept override {
    if (!batches_.empty()) return &batches_.back();
    return writing_.empty() ? nullptr : &writing_.back();
  }

  Task<void> write_some() override {
    while (!batches_.empty() && writing_.size() < kMostWritten) {
      writing_.push_back(std::move(batches_.front()));
      batches_.pop_front();
    }
    taken_ += writing_.size();
    // A file has one end, and no epoch: what an owner of the past writes there would be read. A
    // journal needs this only before somebody is told.
    require_owner();
    bool created = false;
    for (Batch& batch : writing_) {
      OfTask& own = of_task_[batch.task];
      if (own.file == nullptr || batch.offset == 0) {  // or the one that was there is gone
        created = created || !disk().exists(path(batch.task));
        own.file = disk().open(path(batch.task));
      }
    }
    Semaphore some(kAtATime);
    co_await scope([&](Scope& all) -> Task<void> {
      for (Batch& batch : writing_) {
        Semaphore::Permit permit = co_await some.acquire();
        all.spawn(&Files::write_one, this, &batch, std::move(permit));
      }
    });
    if (created) co_await disk().sync_directory(options_.directory);
    require_owner();
    for (const Batch& batch : writing_) note_size(batch);
    std::deque<Batch> done = std::move(writing_);
    writing_.clear();
    if (of_task_.size() > kMostOpen) forget_files();
    for (Batch& batch : done) {
      written(batch.bytes.size());
      tell(batch);
    }
  }
  Task<void> write_one(Batch* batch, Semaphore::Permit) {
    DiskFile& file = *of_task_[batch->task].file;
    co_await file.write_synced(batch->offset, batch->bytes);
  }
  void forget_files() {
    std::erase_if(of_task_, [this](const auto& entry) {
      return !entry.second.queued || entry.second.batch < taken_;
    });
  }

  TicketList take_tickets() noexcept override {
    TicketList all;
    for (Batch& batch : writing_) all.take(batch.tickets);
    for (Batch& batch : batches_) all.take(batch.tickets);
    writing_.clear();
    batches_.clear();
    return all;
  }

  std::string path(const Uuid& task) const { return path(task.text() + ".wal"); }
  std::string path(const std::string& name) const { return options_.directory + "/" + name; }

  std::unordered_map<Uuid, OfTask, UuidHash> of_task_;
  std::deque<Batch> batches_;
  std::deque<Batch> writing_;
  std::size_t taken_ = 0;  // batches that were taken out so far
  std::unique_ptr<DiskFile> sizes_;
  std::unordered_map<Uuid, std::uint64_t, UuidHash> lines_;  // where they are in the file `sizes`
  std::uint64_t sizes_end_ = 0;
};

}  // namespace

std::shared_ptr<Log> make_files(Scheduler& scheduler, LogOptions options) {
  return std::make_shared<Files>(scheduler, std::move(options));
}

}  // namespace tiffany::wal
