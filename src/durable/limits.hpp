// The checks behind include/tiffany/durable/limits.hpp. Each throws an Error: bad_argument, or
// bad_json for a value.
#pragma once

#include <string>
#include <string_view>

#include "tiffany/durable/actor.hpp"
#include "tiffany/durable/limits.hpp"

namespace tiffany::detail {

struct ValueType;

// `what` is the beginning of a sentence: "The name of a signal".
void require_name(std::string_view name, std::string_view what);
// "The reason for a cancel".
void require_reason(std::string_view reason, std::string_view what);
// Both of its texts.
void require_actor(const Actor& actor);
// The name of a step in its log, with its path and its number: "pay/charge#2".
void require_step_id(std::string_view id);

// JSON of somebody outside, as it is recorded. `what` is a noun: "the value of a signal".
std::string recordable(std::string_view json, std::string_view what);
// The same of what a codec has written, which is nearly always in order: it is changed only if it
// must be.
void make_recordable(std::string& json, std::string_view what);
// What somebody outside gives to code that reads it as that type. The sentence begins with `what`,
// an excerpt of it and `how`: "The request", "is not what the update \"add\" takes".
void require_readable(const ValueType& type, const std::string& json, std::string_view what,
                      std::string_view how);
// The sentence of a failure as it is recorded: valid UTF-8, and cut where it is too long.
void make_recordable_sentence(std::string& sentence);

}  // namespace tiffany::detail
