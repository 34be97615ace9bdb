#include "tiffany/wal/record_store.hpp"

#include <charconv>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kForkedAt = "\"forked_at\":";

// What a repair wrote when it could not tell whether the task had lost records.
std::string why_of(std::string_view payload) {
  const std::string text = "{" + std::string(payload) + "}";
  try {
    JsonReader in(text);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      if (name == "why") return in.string();
      in.raw();
    }
  } catch (const Error&) {  // then it is no more than that: quarantined
  }
  return "a repair of its log gave up records";
}

void note_command(StoredTask& task, std::string_view payload) {
  if (payload.starts_with(R"("op":"quarantine")")) {
    (task.ended ? task.doubt : task.quarantine) = why_of(payload);
  } else if (payload.starts_with(R"("op":"pause")")) {
    task.paused = true;
  } else if (payload.starts_with(R"("op":"resume")")) {
    task.paused = false;
  } else if (payload.starts_with(R"("op":"retry")")) {
    task.paused = false;
    task.ended = false;
  }
}

}  // namespace

RecordStore::RecordStore(std::string name, std::uint64_t epoch, const WallClock& clock)
    : name_(std::move(name)), epoch_(epoch), clock_(clock) {}

RecordStore::~RecordStore() = default;

void RecordStore::require_open() const {
  if (why_sealed() != nullptr) std::rethrow_exception(why_sealed());
}

std::string RecordStore::read_one(const StoredTask& task, std::size_t which, bool) {
  return read(task).at(which);
}
std::size_t RecordStore::count(const StoredTask& task) { return read(task).size(); }
std::uint64_t RecordStore::bytes(const StoredTask& task) {
  std::uint64_t all = 0;
  for (const std::string& line : read(task)) all += line.size();
  return all;
}

StoreProvider::~StoreProvider() = default;

void note_record(StoredTask& task, const RecordView& record) {
  task.last_seq = record.seq;
  if (record.type == RecordType::Spawn && record.payload.starts_with(kForkedAt)) {
    const std::string_view digits = record.payload.substr(kForkedAt.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), task.forked_at);
  }
  if (record.type == RecordType::Command) note_command(task, record.payload);
  if (record.type == RecordType::TaskExit || record.type == RecordType::TaskAbort) {
    task.ended = true;
    task.failed = record.payload.starts_with(R"("reason":"failed")");
    task.cancelled = record.type == RecordType::TaskAbort && !task.failed;
  }
}

Task<BackupReport> RecordStore::copy_to(std::string directory) {
  throw Error(Errc::durable_misuse, "The store \"" + name_ + "\" is not copied to " + directory +
                                        ": it is no log in a directory. Use what its database has "
                                        "for that.");
  co_return BackupReport();
}

}  // namespace tiffany::wal
