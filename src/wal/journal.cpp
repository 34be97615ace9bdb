// Segments that all tasks share. A segment is filled with zeros before its first use, and used
// again when nothing in it is needed any more: writing over what is there is what a disk syncs
// fastest. A zero behind each batch says where the log ends, whatever was there before.
#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <string>
#include <utility>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/wal/log.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kLargestBatch = std::size_t{1} << 20;
// Each owner begins a segment, and many owners write little: the first is small. Those after it
// grow fast enough that a busy log is at its largest segment after a few MiB.
constexpr std::size_t kFirstSegment = std::size_t{64} << 10;
constexpr std::size_t kGrowth = 4;
// Room for the first segment of an owner and for a small compaction when the disk is full.
constexpr std::size_t kReserve = std::size_t{256} << 10;
constexpr std::size_t kBlock = std::size_t{4} << 10;

bool no_room(const IoError& error) noexcept {
  return error.number() == ENOSPC || error.number() == EDQUOT;
}

void put_number(char* to, std::size_t digits, std::uint64_t number) noexcept {
  for (std::size_t i = digits; i-- > 0; number /= 10) to[i] = static_cast<char>('0' + number % 10);
}
void put_hex(char* to, std::uint32_t number) noexcept {
  for (std::size_t i = 8; i-- > 0; number >>= 4) to[i] = "0123456789abcdef"[number & 15];
}

class Journal final : public Log {
 public:
  Journal(Scheduler& scheduler, LogOptions options) : Log(scheduler, std::move(options)) {}

 private:
  Task<void> begin(const LogIndex& index) override {
    std::uint64_t after = 0;
    std::uint32_t last = 0;
    if (!index.segments.empty()) {
      last = index.segments.back().number;
      after = index.segments.back().size;
      co_await settle(index.segments.back());
    }
    // What was found without a valid first line, or is of an owner of the past: the numbers are
    // used again.
    for (const std::string& name : disk().list(options_.directory)) {
      if (number_of_segment(name) <= last) continue;
      // Where there is damage it may be a segment under a wrong name, which a repair can use.
      if (!index.damage.empty()) {
        co_await disk().rename(path(name), path(name) + ".aside");
      } else {
        co_await disk().remove(path(name));
      }
    }
    mark_ = disk().open(path("synced"));
    next_capacity_ = std::min(kFirstSegment, options_.segment_size);
    co_await remove_before(index.base);
    if (index.damage.empty()) co_await give_back(index);
    // One that is ready is used as it is.
    if (disk().exists(path("next"))) {
      next_capacity_ = std::clamp<std::uint64_t>(disk().size(path("next")), next_capacity_,
                                                 options_.segment_size);
    }
    next_segment(last + 1, after);
    co_await prepare_first();
  }
  Task<void> end() override { co_await nobody_prepares_.wait(); }

  // What the last owner had made ready behind its records and did not use. Nothing behind the
  // records is ever read: the first line of the next segment says where they end.
  Task<void> give_back(const LogIndex& index) {
    if (index.segments.empty()) co_return;
    const Segment& last = index.segments.back();
    if (disk().exists(last.path) && disk().size(last.path) > last.size) {
      co_await disk().shorten(last.path, last.size);
    }
  }

  // On a disk that is full the reserve makes room.
  Task<void> prepare_first() {
    bool full = false;
    try {
      co_await prepare_alone(false);
    } catch (const IoError& error) {
      if (!no_room(error)) throw;
      full = true;
    }
    if (full) {
      full_ = true;
      co_await free_reserve();
      co_await prepare_alone(true);
    } else {
      co_await make_reserve();
    }
  }
  Task<void> make_reserve() {
    if (disk().exists(path("reserve"))) co_return;
    bool full = false;
    try {
      const std::unique_ptr<DiskFile> file = disk().open(path("reserve"));
      co_await fill(file.get(), std::min(kReserve, options_.segment_size));
    } catch (const IoError& error) {
      if (!no_room(error)) throw;
      full = true;
    }
    if (full) co_await free_reserve();
  }
  Task<bool> free_reserve() override {
    const bool there = disk().exists(path("reserve"));
    if (there) co_await disk().remove(path("reserve"));
    co_return there;
  }

  // What was found may be in the cache of the system only: of a process that was killed, or of one
  // whose sync failed, after which no sync writes it any more. What is not known to be on the disk
  // is written again and synced, before anybody acts upon it. That is the last batch at most: its
  // owner had synced what was before it.
  Task<void> settle(const Segment& last) {
    if (!disk().exists(last.path)) co_return;
    std::string unproven;
    {
      const auto content = disk().read(last.path);
      const std::string_view bytes = content->bytes();
      const std::uint64_t end = std::min<std::uint64_t>(last.size, bytes.size());
      // What could not be read is not written over: the next attempt to read it may succeed.
      const bool readable = content->unreadable().empty();
      if (readable && last.proven < end) unproven = bytes.substr(last.proven, end - last.proven);
    }
    const std::unique_ptr<DiskFile> file = disk().open(last.path);
    if (!unproven.empty()) co_await file->write(last.proven, unproven);
    co_await file->sync();
  }

  Batch& batch_for(TaskLog&, std::size_t size) override {
    if (tail() + size > capacity_) next_segment(tail_segment_ + 1, tail(), size);
    if (closed_ || batches_.back().bytes.size() + size > kLargestBatch) {
      close_batch();
      batches_.emplace_back();
      batches_.back().file = tail_segment_;
      batches_.back().offset = tail_;
      batches_.back().bytes = std::move(spare_);  // its memory
      batches_.back().bytes.clear();
      closed_ = false;
    }
    return batches_.back();
  }
  std::uint32_t seed_of(const Batch& batch) const noexcept override {
    return batch.offset == 0 && batch.bytes.empty() ? 0 : seed_;
  }

  // From here on lines go into another segment, which has room for a line of that size.
  void next_segment(std::uint32_t number, std::uint64_t after, std::size_t line = 0) {
    if (number > kMostSegments) {
      throw Error(Errc::log_sealed,
                  "The log in " + options_.directory +
                      " has no numbers left for its segments. Begin another one.");
    }
    close_batch();
    tail_segment_ = number;
    tail_ = 0;
    const std::size_t room = (line + kBlock + kBlock - 1) / kBlock * kBlock;  // and its first line
    capacity_ = std::max(next_capacity_, std::min(room, options_.segment_size));
    capacities_.push_back(capacity_);
    next_capacity_ = std::min(capacity_ * kGrowth, options_.segment_size);
    seed_ = seed_of_segment(number);
    const std::string nil = Uuid().text();
    const std::string payload = owner_payload(number, after);
    append(own_, Entry{RecordType::Owner, nil, payload});
  }

  void begin_moving() override {
    next_segment(tail_segment_ + 1, tail());
    moving_ = tail_segment_;
  }
  bool move(TaskLog& task) override {
    // The last tells: whoever appends one has moved all before it.
    if (task.records.empty() || task.records.back().file >= moving_) return false;
    for (Position& record : task.records) {
      if (record.file >= moving_) continue;
      if (sealed()) std::rethrow_exception(why_sealed());
      const std::string text = line(task, record);
      record = put(batch_for(task, text.size() + 1), text);
    }
    return true;
  }
  const Batch* unwritten(const TaskLog&, const Position& record) const noexcept override {
    const auto after = std::partition_point(batches_.begin(), batches_.end(), [&](const Batch& b) {
      return b.file < record.file || (b.file == record.file && b.offset <= record.offset);
    });
    if (after == batches_.begin()) return nullptr;
    const Batch& batch = *std::prev(after);
    const bool inside = record.offset - batch.offset < batch.bytes.size();
    return batch.file == record.file && inside ? &batch : nullptr;
  }

  // First it is said, then it is done: a crash in between leaves files that nobody reads.
  Task<void> forget(std::vector<Uuid>) override {
    const std::uint32_t segment = std::exchange(moving_, 0);
    forget_lines();
    const std::string said = base_text(segment);
    // What a crash has left of it may be longer.
    if (disk().exists(path("base.new"))) co_await disk().remove(path("base.new"));
    {
      const std::unique_ptr<DiskFile> file = disk().open(path("base.new"));
      co_await file->write(0, said);
      co_await file->sync();
    }
    require_owner();
    co_await disk().rename(path("base.new"), path("base"));
    co_await disk().sync_directory(options_.directory);
    co_await remove_before(segment);
    full_ = false;
    co_await make_reserve();
  }
  Task<void> remove_before(std::uint32_t segment) {
    for (const std::string& name : disk().list(options_.directory)) {
      const std::uint32_t number = number_of_segment(name);
      if (number == 0 || number >= segment) continue;
      if (prepared_ == nullptr && nobody_prepares_.is_set() && fits(path(name))) {
        co_await use_again(path(name));
      } else {
        co_await disk().remove(path(name));
      }
    }
  }
  bool fits(const std::string& file) { return disk().size(file) >= wanted(); }
  // How large the segment is that is opened next.
  std::size_t wanted() const noexcept {
    return capacities_.empty() ? next_capacity_ : capacities_.front();
  }
  Task<void> use_again(std::string file) {
    nobody_prepares_.reset();
    const Preparing preparing(shared_from_this(), nobody_prepares_);
    co_await disk().rename(file, path("next"));
    prepared_ = disk().open(path("next"));
  }

  Batch* last_batch() noexcept override { return batches_.empty() ? nullptr : &batches_.back(); }

  Task<void> write_some() override {
    // One behind it still takes lines: what came apart at the end of a segment comes together
    // again.
    if (batches_.size() == 1) close_batch();
    Batch& batch = batches_.front();
    if (batch.file != open_segment_) co_await open(batch.file);
    const std::size_t size = batch.bytes.size();
    if (batch.offset + size < open_capacity_) batch.bytes += '\0';
    co_await file_->write_synced(batch.offset, batch.bytes);
    batch.bytes.resize(size);
    require_owner();
    note_synced(batch);
    Batch done = std::move(batches_.front());
    batches_.pop_front();
    written(done.bytes.size());
    spare_ = std::move(done.bytes);
    tell(done);
    if (tail() > capacity_ / 2) prepare_ahead();
  }

  TicketList take_tickets() noexcept override {
    TicketList all;
    for (Batch& batch : batches_) all.take(batch.tickets);
    batches_.clear();
    closed_ = true;
    return all;
  }

  Task<void> open(std::uint32_t number) {
    co_await prepare_alone(true);
    require_owner();
    // Never over another: that would be a segment of an owner who came after this one.
    co_await disk().rename_new(path("next"), path(segment_name(number)));
    co_await disk().sync_directory(options_.directory);
    file_ = std::move(prepared_);
    open_segment_ = number;
    open_capacity_ = capacities_.front();
    capacities_.pop_front();
  }

  // `needed`: on a disk that is full the segment is not filled with zeros first; it may still have
  // room for records.
  Task<void> prepare_alone(bool needed) {
    while (!nobody_prepares_.is_set()) co_await nobody_prepares_.wait();
    if (prepared_ != nullptr) co_return;
    nobody_prepares_.reset();
    const Preparing preparing(shared_from_this(), nobody_prepares_);
    co_await prepare(needed);
  }

  // Makes the file of the next segment, full of zeros; unless there is one.
  Task<void> prepare(bool needed) {
    const bool ready = disk().exists(path("next")) && fits(path("next"));
    std::unique_ptr<DiskFile> file = disk().open(path("next"));
    if (ready) {
      prepared_ = std::move(file);
      co_return;
    }
    std::exception_ptr full;
    try {
      if (!full_) co_await fill(file.get(), wanted());
    } catch (const IoError& error) {
      if (!no_room(error)) throw;
      full = std::current_exception();
    }
    if (full != nullptr) {  // what was written of it takes room that others need
      file.reset();
      co_await disk().remove(path("next"));
      if (!needed) std::rethrow_exception(full);
      file = disk().open(path("next"));
    }
    prepared_ = std::move(file);
  }
  static Task<void> fill(DiskFile* file, std::size_t size) {
    const std::string zeros(std::min(size, std::size_t{256} << 10), '\0');
    for (std::size_t at = 0; at < size; at += zeros.size()) {
      co_await file->write(at,
                           std::string_view(zeros).substr(0, std::min(zeros.size(), size - at)));
    }
    co_await file->sync();
  }

  // Beside the writer, which has better things to do. What goes wrong here goes wrong again when
  // the segment is needed and still not there; then it matters.
  void prepare_ahead() {
    if (prepared_ != nullptr || !nobody_prepares_.is_set()) return;
    nobody_prepares_.reset();
    scheduler_.spawn(&Journal::prepare_beside, Preparing(shared_from_this(), nobody_prepares_));
  }
  // Says so when it is over, also when it is cancelled before it begins.
  class Preparing {
   public:
    Preparing(std::shared_ptr<Log> log, ManualResetEvent& nobody) noexcept
        : log_(std::move(log)), nobody_(nobody) {}
    Preparing(Preparing&&) noexcept = default;
    Preparing& operator=(Preparing&&) = delete;
    ~Preparing() {
      if (log_ != nullptr) nobody_.set();
    }
    Task<void> run() const { return static_cast<Journal&>(*log_).prepare(false); }

   private:
    std::shared_ptr<Log> log_;
    ManualResetEvent& nobody_;
  };
  static Task<void> prepare_beside(Preparing preparing) {
    try {
      co_await preparing.run();
    } catch (const std::exception&) {
    }
  }

  void note_synced(const Batch& batch) noexcept {
    char text[31] = "00000000 000000000000 ";
    put_number(text, 8, batch.file);
    put_number(text + 9, 12, batch.offset + batch.bytes.size());
    put_hex(text + 22, crc32c(std::string_view(text, 22)));
    mark_->note(0, std::string_view(text, 30));
  }

  std::uint64_t tail() const noexcept {
    return closed_ ? tail_ : batches_.back().offset + batches_.back().bytes.size();
  }
  void close_batch() noexcept {
    tail_ = tail();
    closed_ = true;
  }
  std::string path(const std::string& name) const { return options_.directory + "/" + name; }

  std::deque<Batch> batches_;
  std::string spare_;
  bool closed_ = true;  // the last batch takes no more lines
  std::uint32_t tail_segment_ = 0;
  std::uint64_t tail_ = 0;  // where the last line ends, when its batch is closed
  std::uint32_t seed_ = 0;
  std::size_t capacity_ = 0;            // of the segment that lines go into
  std::size_t next_capacity_ = 0;       // of the one after it
  std::deque<std::size_t> capacities_;  // of those that are begun and not opened
  std::uint32_t open_segment_ = 0;
  std::size_t open_capacity_ = 0;
  bool full_ = false;  // the disk was: segments grow with what is written to them
  std::unique_ptr<DiskFile> file_;
  std::unique_ptr<DiskFile> prepared_;
  ManualResetEvent nobody_prepares_{true};
  std::unique_ptr<DiskFile> mark_;
};

}  // namespace

std::shared_ptr<Log> make_journal(Scheduler& scheduler, LogOptions options) {
  return std::make_shared<Journal>(scheduler, std::move(options));
}

}  // namespace tiffany::wal
