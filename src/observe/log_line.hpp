// One line of the log: what it says, and how it is written, for machines and for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiffany/base/calendar.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany::observe::log {

// The part of a time stamp down to the second is the same for many lines.
class Stamp {
 public:
  // 2026-11-17T09:30:00.000250; holds until the next one is made.
  std::string_view text(std::int64_t microseconds) {
    std::int64_t second = microseconds / 1'000'000;
    std::int64_t rest = microseconds % 1'000'000;
    if (rest < 0) {
      --second;
      rest += 1'000'000;
    }
    if (second != second_ || text_.empty()) make(second);
    for (std::size_t i = text_.size(); text_[--i] != '.'; rest /= 10) {
      text_[i] = static_cast<char>('0' + rest % 10);
    }
    return text_;
  }

 private:
  void make(std::int64_t second) {
    second_ = second;
    text_ = utc_text(second * 1'000'000);
    text_.pop_back();  // the Z comes with what is around it
  }

  std::int64_t second_ = 0;
  std::string text_;
};

struct Line {
  Level level;
  std::string_view target;
  std::string_view message;
  std::span<const Field> fields;
  const Site* site;  // null: nobody knows
  TaskId task{};
  std::string_view task_name{};
  std::uint64_t suppressed = 0;
  const SharedFields* shared = nullptr;
  std::optional<SpanId> span{};
};

// Both append the line with its line break.
void append_json(std::string& to, const Line& line, Stamp& stamp, std::int64_t now);
void append_for_people(std::string& out, const Line& line, Stamp& stamp, std::int64_t now,
                       bool colours);

}  // namespace tiffany::observe::log
