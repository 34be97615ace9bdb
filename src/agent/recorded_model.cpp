#include "tiffany/agent/recorded_model.hpp"

#include <algorithm>
#include <utility>

#include "base/shown_text.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {

namespace {

bool same_message(const Message& one, const Message& other) {
  return one.role == other.role && one.text == other.text && one.calls == other.calls &&
         one.call_id == other.call_id;
}

// A schema as canonical JSON where it is JSON, so that white space does not count.
std::string canonical_schema(const std::string& schema) {
  try {
    return canonical_json(schema);
  } catch (const Error&) {  // no JSON: then it is compared as the text that it is
    return schema;
  }
}

std::string canonical_question(const Request& request) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("messages");
  out.begin_array();
  for (const Message& message : request.messages) {
    out.begin_object();
    out.member("role", name_of(message.role));
    out.member("text", message.text);
    out.key("calls");
    write_json(out, message.calls);
    out.member("call_id", message.call_id);
    out.end_object();
  }
  out.end_array();
  out.member("model", request.model);
  out.member("output_schema", canonical_schema(request.output_schema));
  out.key("tools");
  out.begin_array();
  for (const ToolOffer& tool : request.tools) {
    out.begin_object();
    out.member("about", tool.about);
    out.member("name", tool.name);
    out.member("schema", canonical_schema(tool.schema));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return canonical_json(text);
}

std::string excerpt_of(const Message& message) {
  constexpr std::size_t kLongest = 120;
  std::string text = message.text;
  for (const ToolCall& call : message.calls) text += " " + call.name + " " + call.arguments;
  const bool cut = text.size() > kLongest;
  return std::string(name_of(message.role)) + " \"" +
         tiffany::detail::shown(text.substr(0, kLongest)) + (cut ? "...\"" : "\"");
}

std::size_t common_messages(const Request& one, const Request& other) {
  const std::size_t most = std::min(one.messages.size(), other.messages.size());
  std::size_t same = 0;
  while (same < most && same_message(one.messages[same], other.messages[same])) ++same;
  return same;
}

}  // namespace

std::string digest_of(const Request& request) { return sha256_hex(canonical_question(request)); }

RecordedModel::RecordedModel(std::vector<RecordedQuestion> recorded)
    : recorded_(std::move(recorded)) {
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    by_digest_.emplace(digest_of(recorded_[i].request), i);
  }
}

void RecordedModel::refuse(const Request& request) const {
  const RecordedQuestion* nearest = nullptr;
  std::size_t most = 0;
  for (const RecordedQuestion& each : recorded_) {
    const std::size_t same = common_messages(each.request, request);
    const bool whole = same == request.messages.size() && same == each.request.messages.size();
    if (nearest != nullptr && same < most) continue;
    if (nearest != nullptr && same == most && !whole) continue;
    nearest = &each;
    most = same;
  }
  std::string sentence = "This question is not recorded. ";
  if (nearest == nullptr) throw NotRecorded(sentence + "Nothing is.", 0);
  const std::vector<Message>& before = nearest->request.messages;
  const std::string number = "Message " + std::to_string(most + 1);
  if (most < request.messages.size() && most < before.size()) {
    sentence += number + " is " + excerpt_of(request.messages[most]) + ", and was " +
                excerpt_of(before[most]) + ".";
  } else if (most < request.messages.size()) {
    sentence +=
        number + " is " + excerpt_of(request.messages[most]) + ", and the record ends before it.";
  } else if (most < before.size()) {
    sentence += number + " is missing, and was " + excerpt_of(before[most]) + ".";
  } else if (request.model != nearest->request.model) {
    sentence += "Its messages are, but of the model \"" +
                tiffany::detail::shown(nearest->request.model) + "\" and not of \"" +
                tiffany::detail::shown(request.model) + "\".";
  } else {
    sentence += "Its messages are, but with other tools, or another schema of the reply.";
  }
  throw NotRecorded(sentence, most);
}

Task<Reply> RecordedModel::ask(Request request, Try, LiveText live) {
  const auto found = by_digest_.find(digest_of(request));
  if (found == by_digest_.end()) refuse(request);
  Reply reply = recorded_[found->second].reply;
  if (live && !reply.message.text.empty()) live(reply.message.text);
  co_return reply;
}

}  // namespace tiffany::agent
