#include "tiffany/base/time_zone.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tiffany/base/calendar.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {

namespace {

// Big-endian numbers, one behind the other. `good` is false when the bytes end too early.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) noexcept : rest_(bytes) {}

  std::string_view take(std::size_t count) noexcept {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::int64_t number(std::size_t size) noexcept {
    std::uint64_t value = 0;
    const std::string_view bytes = take(size);
    if (bytes.empty()) return 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    if (size == 4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    return static_cast<std::int64_t>(value);
  }
  bool good() const noexcept { return good_; }
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

struct Head {
  char version = 0;
  std::size_t utc_flags = 0, standard_flags = 0, leaps = 0, times = 0, types = 0, letters = 0;
};
constexpr std::size_t kMostEntries = 100'000;  // the database has some hundred

std::optional<Head> read_head(Bytes& in) {
  Head head;
  if (in.take(4) != "TZif") return std::nullopt;
  const std::string_view version = in.take(1);
  if (version.empty()) return std::nullopt;
  head.version = version[0];
  in.take(15);
  for (std::size_t* count : {&head.utc_flags, &head.standard_flags, &head.leaps, &head.times,
                             &head.types, &head.letters}) {
    const std::int64_t number = in.number(4);
    if (number < 0 || static_cast<std::size_t>(number) > kMostEntries) return std::nullopt;
    *count = static_cast<std::size_t>(number);
  }
  if (!in.good() || head.types == 0) return std::nullopt;
  return head;
}
std::size_t body_size(const Head& head, std::size_t time_size) {
  return head.times * (time_size + 1) + head.types * 6 + head.letters +
         head.leaps * (time_size + 4) + head.standard_flags + head.utc_flags;
}

// ---- The rule at the end: "CET-1CEST,M3.5.0,M10.5.0/3" ----

bool take(std::string_view& text, char c) noexcept {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}
bool take_name(std::string_view& text) noexcept {
  std::size_t size = 0;
  if (take(text, '<')) {
    size = text.find('>');
    if (size == std::string_view::npos) return false;
    text.remove_prefix(size + 1);
    return size > 0;
  }
  while (size < text.size() &&
         ((text[size] >= 'A' && text[size] <= 'Z') || (text[size] >= 'a' && text[size] <= 'z'))) {
    ++size;
  }
  text.remove_prefix(size);
  return size >= 3;
}
std::optional<int> take_number(std::string_view& text) noexcept {
  int value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 4 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + (text[digits++] - '0');
  }
  text.remove_prefix(digits);
  if (digits == 0) return std::nullopt;
  return value;
}
// [+-]hh[:mm[:ss]] in seconds.
std::optional<std::int32_t> take_time(std::string_view& text) noexcept {
  const bool minus = take(text, '-');
  if (!minus) take(text, '+');
  std::int32_t seconds = 0;
  std::int32_t unit = 3600;
  do {
    const auto part = take_number(text);
    if (!part || *part > 167) return std::nullopt;
    seconds += *part * unit;
    unit /= 60;
  } while (unit > 0 && take(text, ':'));
  return minus ? -seconds : seconds;
}

}  // namespace

// As a local time, before clocks are set.
std::int64_t TimeZone::Change::local_in(std::int64_t year) const noexcept {
  std::int64_t days = days_of({year, 1, 1});
  if (kind == Kind::weekday_of_month) {
    const std::int64_t first = days_of({year, month, 1});
    const auto ahead = (static_cast<unsigned>(day) + 7 - weekday_of(first)) % 7;
    days = first + ahead + (week - 1) * 7;
    if (days >= first + days_in_month(year, month)) days -= 7;
  } else if (kind == Kind::day_without_leap) {
    const bool leap = days_in_month(year, 2) == 29;
    days += day - 1 + (leap && day >= 60 ? 1 : 0);
  } else {
    days += day;
  }
  return days * kSecondsOfDay + time;
}

std::optional<TimeZone::Rule> TimeZone::parse_rule(std::string_view text) {
  Rule rule;
  if (!take_name(text)) return std::nullopt;
  const auto standard = take_time(text);
  if (!standard) return std::nullopt;
  rule.standard = -*standard;  // POSIX counts west of Greenwich
  if (text.empty()) return rule;
  if (!take_name(text)) return std::nullopt;
  rule.summer = rule.standard + 3600;
  if (!text.empty() && text[0] != ',') {
    const auto summer = take_time(text);
    if (!summer) return std::nullopt;
    rule.summer = -*summer;
  }
  Change changes[2];
  for (Change& change : changes) {
    if (!take(text, ',')) return std::nullopt;
    if (take(text, 'M')) {
      const auto month = take_number(text);
      if (!month || !take(text, '.')) return std::nullopt;
      const auto week = take_number(text);
      if (!week || !take(text, '.')) return std::nullopt;
      const auto day = take_number(text);
      if (!day || *month < 1 || *month > 12 || *week < 1 || *week > 5 || *day > 6) {
        return std::nullopt;
      }
      change.month = static_cast<unsigned>(*month);
      change.week = static_cast<unsigned>(*week);
      change.day = *day;
    } else {
      change.kind = take(text, 'J') ? Change::Kind::day_without_leap : Change::Kind::day;
      const auto day = take_number(text);
      if (!day || *day > 365) return std::nullopt;
      change.day = *day;
    }
    if (take(text, '/')) {
      const auto time = take_time(text);
      if (!time) return std::nullopt;
      change.time = *time;
    }
  }
  if (!text.empty()) return std::nullopt;
  rule.begins = changes[0];
  rule.ends = changes[1];
  return rule;
}

TimeZone TimeZone::parse(std::string name, std::string_view bytes) {
  const Error bad(Errc::bad_argument, "The file of the time zone \"" + name +
                                          "\" is not one of the IANA time zone database (TZif).");
  Bytes in(bytes);
  std::optional<Head> head = read_head(in);
  std::size_t time_size = 4;
  if (head && head->version >= '2') {  // the part for old readers is passed over
    in.take(body_size(*head, 4));
    head = read_head(in);
    time_size = 8;
  }
  if (!head) throw bad;

  TimeZone zone;
  zone.name_ = std::move(name);
  std::vector<std::size_t> types(head->times);
  for (std::size_t i = 0; i < head->times; ++i) zone.since_.push_back(in.number(time_size));
  for (std::size_t& type : types) type = static_cast<std::size_t>(in.number(1));
  std::vector<std::int32_t> offsets(head->types);
  for (std::int32_t& offset : offsets) {
    offset = static_cast<std::int32_t>(in.number(4));
    in.take(2);
    if (offset < -kSecondsOfDay || offset > kSecondsOfDay) throw bad;
  }
  in.take(head->letters + head->leaps * (time_size + 4) + head->standard_flags + head->utc_flags);
  if (!in.good() || !std::is_sorted(zone.since_.begin(), zone.since_.end())) throw bad;
  for (const std::size_t type : types) {
    if (type >= offsets.size()) throw bad;
    zone.offsets_.push_back(offsets[type]);
  }
  zone.before_ = offsets[0];
  if (time_size == 8) {
    std::string_view footer = in.rest();
    if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') throw bad;
    footer = footer.substr(1, footer.size() - 2);
    if (!footer.empty()) {
      zone.rule_ = parse_rule(footer);
      if (!zone.rule_) throw bad;
    }
  }
  return zone;
}

std::int32_t TimeZone::by_rule(std::int64_t utc) const noexcept {
  const Rule& rule = *rule_;
  if (!rule.begins) return rule.standard;
  const std::int64_t local = utc + rule.standard;
  const std::int64_t days =
      local >= 0 ? local / kSecondsOfDay : (local - (kSecondsOfDay - 1)) / kSecondsOfDay;
  const std::int64_t year = date_of(days).year;
  const std::int64_t begins = rule.begins->local_in(year) - rule.standard;
  const std::int64_t ends = rule.ends.local_in(year) - rule.summer;
  // In the south, summer is at both ends of the year.
  const bool summer = begins < ends ? utc >= begins && utc < ends : utc >= begins || utc < ends;
  return summer ? rule.summer : rule.standard;
}

std::int32_t TimeZone::offset_at(std::int64_t utc) const noexcept {
  const auto next = std::upper_bound(since_.begin(), since_.end(), utc);
  if (next == since_.end() && rule_) return by_rule(utc);
  if (next == since_.begin()) return before_;
  return offsets_[static_cast<std::size_t>(next - since_.begin()) - 1];
}

TimeZone::Moments TimeZone::to_utc(std::int64_t local) const noexcept {
  // No zone sets its clocks twice within two days, nor by a day or more.
  const std::int32_t earlier = offset_at(local - kSecondsOfDay);
  const std::int32_t later = offset_at(local + kSecondsOfDay);
  const std::int64_t with_earlier = local - earlier;
  const std::int64_t with_later = local - later;
  const bool one = offset_at(with_earlier) == earlier;
  const bool other = offset_at(with_later) == later;
  Moments found;
  if (one && other && with_earlier != with_later) {
    found.kind = Moments::Kind::two;
    found.first = std::min(with_earlier, with_later);
    found.second = std::max(with_earlier, with_later);
  } else if (one || other) {
    found.first = found.second = one ? with_earlier : with_later;
  } else {
    // The moment of the change is between the two.
    std::int64_t low = std::min(with_earlier, with_later);
    std::int64_t high = std::max(with_earlier, with_later);
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (offset_at(middle) == later ? high : low) = middle;
    }
    found.kind = Moments::Kind::none;
    found.first = found.second = high;
  }
  return found;
}

}  // namespace tiffany
