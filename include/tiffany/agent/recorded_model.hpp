// A model that answers what it answered before: questions and replies of a log, for "what if"
// questions and regression tests. No network is used.
//
//   RecordedModel model(std::move(recorded));
//
// A question is the same when messages, tools, model and the schema of the reply are; the mark
// `tainted` and limits do not count. Of two equal questions the first is answered.
//
// Lifetime: the model outlives its questions. Thread safety: none; of one scheduler.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tiffany/agent/model.hpp"
#include "tiffany/durable/failures.hpp"

namespace tiffany::agent {

class RecordedQuestion {
 public:
  RecordedQuestion() = default;
  RecordedQuestion(Request asked, Reply given)
      : request(std::move(asked)), reply(std::move(given)) {}
  Request request{};
  Reply reply{};
};

// SHA-256, in hexadecimal digits, over canonical JSON (RFC 8785) of what makes a question.
std::string digest_of(const Request& request);

// A question that was not recorded. The sentence names the first message that differs from the
// recorded question that is most like it. Asking again cannot help.
class NotRecorded : public NotRetryable {
 public:
  NotRecorded(const std::string& sentence, std::size_t place)
      : NotRetryable(sentence), message_(place) {}
  // Which message of the question differs, from 0; as many as it has: none, but something else.
  std::size_t message() const noexcept { return message_; }

 private:
  std::size_t message_;
};

class RecordedModel final : public Model {
 public:
  explicit RecordedModel(std::vector<RecordedQuestion> recorded);

  // Throws NotRecorded. Cancel: there is nothing to wait for.
  Task<Reply> ask(Request request, Try attempt, LiveText live) override;

  std::size_t size() const noexcept { return recorded_.size(); }

 private:
  [[noreturn]] void refuse(const Request& request) const;

  std::vector<RecordedQuestion> recorded_;
  std::map<std::string, std::size_t> by_digest_;
};

}  // namespace tiffany::agent
