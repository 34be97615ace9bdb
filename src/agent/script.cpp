#include "tiffany/agent/script.hpp"

#include <algorithm>

#include "tiffany/durable/failures.hpp"

namespace tiffany::agent {

namespace {

constexpr std::size_t kLongestPiece = 64;
constexpr std::size_t kBytesOfToken = 4;

std::int64_t tokens(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kBytesOfToken - 1) / kBytesOfToken);
}

std::size_t bytes_of(const Message& message) {
  std::size_t bytes = message.text.size();
  for (const ToolCall& call : message.calls) bytes += call.name.size() + call.arguments.size();
  return bytes;
}

Usage counted(const Request& request, const Message& said) {
  std::size_t asked = 0;
  for (const Message& message : request.messages) asked += bytes_of(message);
  for (const ToolOffer& tool : request.tools) {
    asked += tool.name.size() + tool.about.size() + tool.schema.size();
  }
  Usage usage;
  usage.input = tokens(asked);
  usage.output = tokens(bytes_of(said));
  usage.known = true;
  return usage;
}

}  // namespace

std::int64_t turn_of(const Request& request) noexcept {
  return 1 + std::count_if(request.messages.begin(), request.messages.end(),
                           [](const Message& each) { return each.role == Role::assistant; });
}

bool is_tainted(const Request& request) noexcept {
  return std::any_of(request.messages.begin(), request.messages.end(),
                     [](const Message& each) { return each.tainted; });
}

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size() - 1) + 1;
    if (end > kLongestPiece) {
      end = kLongestPiece;
      while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

// The first entry with a `when` that holds for the question that is in messages begin to end.
const ScriptEntry* Script::conditional(const Request& request, std::size_t begin, std::size_t end,
                                       std::int64_t turn) const {
  const auto said = [&](std::string_view text) {
    for (std::size_t i = begin; i < end; ++i) {
      if (request.messages[i].text.find(text) != std::string::npos) return true;
    }
    return false;
  };
  for (const ScriptEntry& entry : entries_) {
    if (!entry.conditional) continue;
    if (entry.turn != 0 && entry.turn != turn) continue;
    if (entry.model && *entry.model != request.model) continue;
    if (entry.contains && !said(*entry.contains)) continue;
    return &entry;
  }
  return nullptr;
}

// Goes through the conversation from its beginning, because it says which of the entries that
// answer in order were used up.
const ScriptEntry& Script::pick(const Request& request) const {
  std::size_t used = 0;
  std::size_t begin = 0;
  std::int64_t turn = 1;
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    if (request.messages[i].role != Role::assistant) continue;
    if (conditional(request, begin, i, turn) == nullptr) ++used;
    begin = i + 1;
    ++turn;
  }
  const ScriptEntry* const chosen = conditional(request, begin, request.messages.size(), turn);
  if (chosen != nullptr) return *chosen;
  std::size_t in_order = 0;
  for (const ScriptEntry& entry : entries_) {
    if (!entry.conditional && in_order++ == used) return entry;
  }
  if (otherwise_) return *otherwise_;
  throw NotRetryable(name_ + " has no reply for turn " + std::to_string(turn) + ": no `when` " +
                     "holds, and the " + std::to_string(in_order) +
                     " replies without a `when` are used up. Add one, or \"otherwise\".");
}

const ScriptEntry* Script::embeddings_fault(const std::vector<std::string>& texts,
                                            std::string_view model) const {
  for (const ScriptEntry& entry : embeddings_) {
    if (entry.model && *entry.model != model) continue;
    const auto holds = [&](const std::string& text) {
      return !entry.contains || text.find(*entry.contains) != std::string::npos;
    };
    if (std::any_of(texts.begin(), texts.end(), holds)) return &entry;
  }
  return nullptr;
}

Reply Script::reply(const ScriptEntry& entry, const Request& request) {
  Reply reply;
  reply.message = Message::assistant(entry.text, entry.calls);
  reply.message.tainted = is_tainted(request);
  int number = 0;
  for (ToolCall& call : reply.message.calls) {
    ++number;
    if (call.id.empty()) {
      call.id = "call_" + std::to_string(turn_of(request)) + "_" + std::to_string(number);
    }
  }
  reply.stop = entry.stop;
  reply.usage = entry.usage ? *entry.usage : counted(request, reply.message);
  reply.model = request.model.empty() ? "script" : request.model;
  return reply;
}

}  // namespace tiffany::agent
