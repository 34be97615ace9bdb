// A file for each task, <uuid>.wal. What waits at the same time is written to all of its files, and then
// all of them are synced, some at a time.
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "tiffany/engine/structured.hpp"
#include "tiffany/sync/semaphore.hpp"
#include "tiffany/wal/log.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kAtATime = 32;
constexpr std::size_t kMostOpen = 512;

class Files final : public Log {
 public:
  Files(Scheduler& scheduler, LogOptions options) : Log(scheduler, std::move(options)) {}

 private:
  struct OfTask {
    std::unique_ptr<DiskFile> file;
    std::uint64_t size = 0;  // with what is queued
    bool queued = false;     // the last of the batches is his
    std::size_t batch = 0;   // which one, counted from the first that there ever was
  };
  struct Hash {
    std::size_t operator()(const Uuid& id) const noexcept {
      return static_cast<std::size_t>(id.hash());
    }
  };

  Task<void> begin(const LogIndex&) override {
    const std::string nil = Uuid().text();
    const std::string payload = owner_payload(0, 0);
    append(own_, Entry{RecordType::Owner, nil, payload});
    co_return;
  }

  Batch& batch_for(TaskLog& task, std::size_t) override {
    OfTask& own = of_task_[task.id];
    if (own.queued && own.batch >= taken_) return batches_[own.batch - taken_];
    if (own.size == 0) own.size = size_on_disk(task.id);
    batches_.emplace_back();
    batches_.back().task = task.id;
    batches_.back().offset = own.size;
    own.queued = true;
    own.batch = taken_ + batches_.size() - 1;
    return batches_.back();
  }
  std::uint32_t seed_of(const Batch&) const noexcept override { return 0; }
  bool anything_queued() const noexcept override { return !batches_.empty(); }

  Task<void> write_some() override {
    writing_ = std::move(batches_);
    batches_.clear();
    taken_ += writing_.size();
    bool created = false;
    for (Batch& batch : writing_) {
      OfTask& own = of_task_[batch.task];
      own.size = batch.offset + batch.bytes.size();
      if (own.file == nullptr) {
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
    co_await file.write(batch->offset, batch->bytes);
    co_await file.sync();
  }
  void forget_files() {
    std::erase_if(of_task_, [this](const auto& entry) {
      return !entry.second.queued || entry.second.batch < taken_;
    });
  }

  Ticket* take_tickets() noexcept override {
    Batch all;
    for (Batch& batch : writing_) join(all, batch);
    for (Batch& batch : batches_) join(all, batch);
    writing_.clear();
    batches_.clear();
    return all.first;
  }

  // After an unfinished line: it is written over.
  std::uint64_t size_on_disk(const Uuid& task) {
    const std::string where = path(task);
    if (!disk().exists(where)) return 0;
    return valid_size(where);
  }
  std::uint64_t valid_size(const std::string& where) {
    const auto content = disk().read(where);
    const std::string_view bytes = content->bytes();
    std::uint64_t size = 0;
    RecordView view;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n', size)) {
      if (read_line(bytes.substr(size, end - size), 0, view) != LineFault::none) break;
      size = end + 1;
    }
    return size;
  }
  std::string path(const Uuid& task) const {
    return options_.directory + "/" + task.text() + ".wal";
  }

  std::unordered_map<Uuid, OfTask, Hash> of_task_;
  std::deque<Batch> batches_;
  std::deque<Batch> writing_;
  std::size_t taken_ = 0;  // batches that were taken out so far
};

}  // namespace

std::shared_ptr<Log> make_files(Scheduler& scheduler, LogOptions options) {
  return std::make_shared<Files>(scheduler, std::move(options));
}

}  // namespace tiffany::wal
