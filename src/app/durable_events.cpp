#include "app/durable_events.hpp"

#include <new>
#include <string_view>

#include "tiffany/base/codec.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/observe/log.hpp"

namespace tiffany::app {
namespace {

namespace log = observe::log;
namespace stage = observe::stage;
using wal::RecordType;

// Members of a record that are texts or numbers of interest.
struct Said {
  std::string step;
  std::string id;
  std::string op;
  std::string name;
  std::string promise;
  std::string error;
  std::string reason;
  bool failed = false;
};

Said said_in(std::string_view payload) {
  Said said;
  const std::string object = "{" + std::string(payload) + "}";
  JsonReader in(object);
  in.begin_object();
  for (std::string member; in.next_member(member);) {
    std::string* into = nullptr;
    if (member == "step") into = &said.step;
    if (member == "id") into = &said.id;
    if (member == "op") into = &said.op;
    if (member == "name") into = &said.name;
    if (member == "promise") into = &said.promise;
    if (member == "error") into = &said.error;
    if (member == "reason") into = &said.reason;
    if (into != nullptr && in.kind() == JsonKind::string) {
      *into = in.string();
      if (into == &said.error) said.failed = true;
    } else {
      in.raw();
    }
  }
  return said;
}

// Of steps of agents, whose ends have names of their own.
std::string_view stage_of_end(RecordType type) {
  switch (type) {
    case RecordType::InstructionStart:
      return stage::kReceivedInstruction;
    case RecordType::LLMPlan:
      return stage::kWaitingForLlm;
    case RecordType::PatchPreview:
      return stage::kPreviewingPatch;
    case RecordType::Commit:
      return stage::kCommittingPatch;
    case RecordType::TaskComplete:
      return stage::kIdle;
    default:
      return stage::kToolExecutionComplete;
  }
}

}  // namespace

void DurableEvents::recorded(const Uuid& task, const wal::Entry& record,
                             wal::Level level) noexcept {
  if (ended_ || !pal_.wanted(observe::PalKind::agent)) return;
  try {
    waiting_.push_back({task, record.type, record.seq, std::string(record.payload)});
    ++last_;
    bytes_ += record.payload.size();
    while (waiting_.size() > kMostWaiting || bytes_ > kMostBytes) {
      (void)take_first();
      ++untold_;
    }
  } catch (const std::bad_alloc&) {
    ++untold_;
  }
  if (level == wal::Level::sync) urgent_ = true;
  came_.set();
}

DurableEvents::Record DurableEvents::take_first() {
  Record first = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= first.payload.size();
  return first;
}

Task<void> DurableEvents::run(wal::RecordStore& store) {
  for (;;) {
    co_await came_.wait();
    came_.reset();
    if (ended_) continue;
    // What nobody waits for goes to the disk with something else, soon, or is hurried here.
    if (!urgent_) co_await sleep(kPatience);
    urgent_ = false;
    const std::uint64_t synced = last_;
    try {
      co_await store.flush();
    } catch (const Error& error) {
      // The log says so too, wherever it is used; the daemon goes on answering.
      log::error("events of durable tasks are not told any more", {{"error", error.what()}});
      ended_ = true;
    }
    // Some of those that were waiting may have been dropped meanwhile, for younger ones.
    while (!ended_ && !waiting_.empty() && last_ - waiting_.size() < synced) tell(take_first());
  }
}

void DurableEvents::tell(const Record& record) {
  if (!pal_.wanted(observe::PalKind::agent)) return;
  Said said;
  try {
    said = said_in(record.payload);
  } catch (const Error&) {
    return;  // it is in the log as it is
  }
  std::string_view what = stage::kIdle;
  std::string message;
  switch (record.type) {
    case RecordType::Spawn:
      what = stage::kReceivedInstruction;
      message = "started as " + said.name;
      break;
    case RecordType::StepStart:
      what = stage::kToolExecutionStart;
      message = said.step;
      break;
    case RecordType::StepEnd:
    case RecordType::InstructionStart:
    case RecordType::LLMPlan:
    case RecordType::ToolResult:
    case RecordType::PatchPreview:
    case RecordType::Commit:
    case RecordType::TaskComplete:
      what = stage_of_end(record.type);
      message = said.step + (said.failed ? " failed: " + said.error : "");
      break;
    case RecordType::Command:
      if (said.op == "promise") what = stage::kAwaitingUserApproval;
      message = said.op + (said.id.empty() ? "" : " " + said.id);
      break;
    case RecordType::Approval:
      message = "a promise was kept";
      break;
    case RecordType::Resumed:
      message = said.name.empty() ? "something came" : said.name + " came";
      break;
    case RecordType::Checkpoint:
      message = "checkpoint";
      break;
    case RecordType::TaskExit:
      what = stage::kCompleted;
      message = "completed";
      break;
    case RecordType::TaskAbort:
      what = stage::kCompleted;
      message = said.reason + (said.error.empty() ? "" : ": " + said.error);
      break;
    default:
      return;
  }
  const observe::PalEvent event(record.task, what, message);
  pal_.emit(event, [&](JsonWriter& data) {
    data.member("record", wal::name_of(record.type));
    data.member("wal_seq", record.seq);
    if (!said.step.empty()) data.member("skill", said.step);
    if (wal::ends_step(record.type)) data.member("ok", !said.failed);
    if (record.type == RecordType::TaskExit) data.member("outcome", "ok");
    if (record.type == RecordType::TaskAbort) data.member("outcome", said.reason);
    if (!said.promise.empty()) data.member("promise", said.promise);
  });
}

}  // namespace tiffany::app
