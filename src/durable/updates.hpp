// The updates of one durable task: those that have come, their handlers, and their answers.
//
// An update goes through these states, in this order:
//   recorded  the request was appended; the caller waits
//   waiting   the request is on the disk and was shown to the task; no handler has taken it yet
//   answered  the handler was called, and the answer was appended (or is in the log already)
//   on disk   the caller has it
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "durable/failure.hpp"
#include "tiffany/durable/update.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/ticket.hpp"

namespace tiffany::detail {

// What a task does with updates, by name. Guards of the code hold it.
class UpdateHandlers {
 public:
  std::uint64_t add(std::string name, UpdateHandler handler);
  void remove(std::uint64_t number) noexcept;
  // The youngest of that name. Null when nobody handles it.
  std::shared_ptr<const UpdateHandler> find(std::string_view name) const noexcept;
  bool had(std::string_view name) const noexcept;
  void clear() noexcept { all_.clear(); }

 private:
  struct Named {
    std::string name;
    std::uint64_t number;
    std::shared_ptr<const UpdateHandler> handler;
  };
  std::vector<Named> all_;
  std::vector<std::string> names_;  // of all that were ever handled
  std::uint64_t last_ = 0;
};

// One update. Shared with those who wait for its answer: they, or the task, may go before. The
// ticket is that of the record of the answer.
struct KnownUpdate final : public wal::Ticket {
  void synced(std::exception_ptr failed) noexcept override;
  std::string id;
  std::string name;
  std::string hash;     // of the name and the request
  std::string request;  // until it is answered
  std::string answer;   // JSON, or the sentence of the failure
  Failure failure;
  bool failed = false;
  bool answered = false;
  bool on_disk = false;
  FlowState* flow = nullptr;  // that answered it
  ManualResetEvent settled;   // it is on the disk, or its task is gone, or the log has failed
  std::exception_ptr error;
};
using UpdatePtr = std::shared_ptr<KnownUpdate>;

// Thrown through a handler that does not wait: code and log differ.
struct HandlerLeft {};

class Updates {
 public:
  explicit Updates(FlowState& flow) : handlers(std::make_shared<UpdateHandlers>()), flow_(flow) {}
  ~Updates();
  Updates(const Updates&) = delete;
  Updates& operator=(const Updates&) = delete;

  const std::shared_ptr<UpdateHandlers> handlers;

  // Null: no update of that id has come, or its answer is forgotten.
  UpdatePtr find(const std::string& id) const;
  // Records a request that was found good; it arrives when it is on the disk.
  UpdatePtr send(const std::string& id, const std::string& name, const std::string& request);
  std::size_t unanswered() const noexcept { return unanswered_; }
  // An update was not answered, or its answer is not on the disk.
  bool busy() const noexcept {
    return unanswered() > 0 || (!answered_.empty() && !answered_.back()->on_disk);
  }

  // ---- While the code waits ----
  void arrived(UpdatePtr update);
  bool any_waiting() const noexcept { return !waiting_.empty(); }
  // Calls handlers that do not wait.
  void handle_all();
  bool handling() const noexcept { return handling_; }
  // One that waits has something to do.
  bool can_serve() const noexcept;
  Durable<void> serve_next();
  bool serving() const noexcept { return serving_ > 0; }

  // ---- From the log, and for checkpoints ----
  UpdatePtr loaded(const std::string& id, std::string name, const std::string& request);
  void clear() noexcept;
  // Those without an answer as [id, name, request]; the last answers as [id, hash, failed, value,
  // type, code]. Empty: none.
  std::string waiting_json() const;
  std::string answers_json() const;
  void read_waiting(std::string_view json);
  void read_answers(std::string_view json);
  static std::vector<UpdatePtr> waiting_in(std::string_view json);
  static std::vector<UpdatePtr> answers_in(std::string_view json);
  static std::string hash_of_request(std::string_view name, std::string_view request);

 private:
  static UpdatePtr made(std::string id, std::string name, std::string request);
  void handle(const UpdatePtr& update, const UpdateHandler& handler);
  void answer(const UpdatePtr& update, std::string value, FailedAttempt failed,
              const std::source_location& site);
  UpdatePtr add(UpdatePtr update);
  void forget_oldest();

  FlowState& flow_;
  std::unordered_map<std::string, UpdatePtr> known_;  // the last of each id
  std::vector<UpdatePtr> waiting_;                    // in the order in which they came
  std::deque<UpdatePtr> answered_;                    // the oldest first; at most kAnswersKept
  std::size_t unanswered_ = 0;
  bool handling_ = false;
  int serving_ = 0;
};

}  // namespace tiffany::detail
