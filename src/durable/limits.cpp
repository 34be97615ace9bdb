#include "durable/limits.hpp"

#include <algorithm>

#include "base/thrown.hpp"
#include "base/utf8.hpp"
#include "durable/excerpt.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/durable/value.hpp"

namespace tiffany::detail {
namespace {

void require_text(std::string_view text, std::size_t least, std::size_t most,
                  std::string_view what) {
  if (text.size() < least || text.size() > most) {
    throw Error(Errc::bad_argument, std::string(what) + " has " + std::to_string(least) + " to " +
                                        std::to_string(most) + " bytes; this one has " +
                                        std::to_string(text.size()) + ".");
  }
  if (is_utf8(text)) return;
  throw Error(Errc::bad_argument, std::string(what) +
                                      " is valid UTF-8; this one is not, and would not be the same "
                                      "when it is read from the log.");
}

[[noreturn]] void refuse(std::string_view what, const Error& why) {
  throw Error(Errc::bad_json, std::string(what) + " cannot be recorded. " + why.what());
}

}  // namespace

void require_name(std::string_view name, std::string_view what) {
  require_text(name, 1, kLongestName, what);
}

void require_reason(std::string_view reason, std::string_view what) {
  require_text(reason, 0, kLongestReason, what);
}

void require_actor(const Actor& actor) {
  require_text(actor.by, 0, kLongestName, "Who asks something of a durable task");
  require_reason(actor.why, "Why something is asked of a durable task");
}

void require_step_id(std::string_view id) {
  constexpr std::size_t kNumber = 11;  // "#4294967295"
  require_text(id, 1, kLongestPath + kLongestName + kNumber,
               "The name of a step with its path and number");
}

std::string recordable(std::string_view json, std::string_view what) {
  try {
    return compact_json(json, kDeepestValue);
  } catch (const Error& error) {
    refuse(what, error);
  }
}

void make_recordable(std::string& json, std::string_view what) {
  try {
    JsonReader in(json, kDeepestValue);
    in.raw();
    in.end();
  } catch (const Error& error) {
    refuse(what, error);
  }
  // A codec of the user may put white space, which inside of a line is of no account, unless it is
  // before a value that would be taken for a reference to another.
  const auto breaks = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  const bool plain = json.front() != ' ' && std::none_of(json.begin(), json.end(), breaks);
  if (!plain) json = recordable(json, what);
}

void require_readable(const ValueType& type, const std::string& json, std::string_view what,
                      std::string_view how) {
  std::string why;
  try {
    return type.check(json);
  } catch (...) {
    why = caught_sentence("its codec refuses it.");
  }
  throw Error(Errc::bad_json, std::string(what) + " " + excerpt(json) + " " + std::string(how) +
                                  ", " + std::string(type.name) + ": " + why);
}

void make_recordable_sentence(std::string& sentence) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // as JsonWriter has it
  if (!is_utf8(sentence)) {
    std::string good;
    for (std::size_t at = 0; at < sentence.size();) {
      const Utf8 sequence = utf8_at(sentence, at);
      good += sequence.good ? std::string_view(sentence).substr(at, sequence.bytes) : kReplacement;
      at += sequence.bytes;
    }
    sentence = std::move(good);
  }
  if (sentence.size() <= kLongestReason) return;
  sentence.resize(utf8_prefix(sentence, kLongestReason).size());
  sentence += "...";
}

}  // namespace tiffany::detail
