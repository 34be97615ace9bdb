#include "tiffany/wal/record.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/plain_text.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/base/crc32c.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kNames[] = {
#define X(name, meaning) #name,
    TIFFANY_RECORDS(X)
#undef X
};

// The parts of a line around its variable ones.
constexpr std::string_view kOpen = R"({"v":)";
constexpr std::string_view kTs = R"(,"ts":")";
constexpr std::string_view kType = R"(","type":")";
constexpr std::string_view kTask = R"(","task_id":")";
constexpr std::string_view kSeq = R"(,"seq":)";
constexpr std::string_view kCrc = R"(,"crc":")";
constexpr std::size_t kTsSize = 27;
constexpr std::size_t kUuidSize = 36;
constexpr std::size_t kTail = kCrc.size() + 8 + 2;  // the checksum, the quote and the brace

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::string& out, std::uint32_t value) {
  char text[8];
  for (int i = 0; i < 8; ++i) text[i] = kHex[(value >> (28 - 4 * i)) & 15];
  out.append(text, 8);
}

// "00" to "99".
constexpr std::array<char, 200> number_pairs() {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[i * 2] = static_cast<char>('0' + i / 10);
    pairs[i * 2 + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = number_pairs();

// Writes to where there is room enough.
class Pen {
 public:
  explicit Pen(char* to) noexcept : at_(to) {}
  // Inline: most of it is known to the compiler.
  [[gnu::always_inline]] void add(std::string_view text) noexcept {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void number(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t first = sizeof digits;
    for (; number >= 100; number /= 100) {
      first -= 2;
      std::memcpy(digits + first, &kPairs[number % 100 * 2], 2);
    }
    if (number >= 10) {
      first -= 2;
      std::memcpy(digits + first, &kPairs[number * 2], 2);
    } else {
      digits[--first] = static_cast<char>('0' + number);
    }
    add(std::string_view(digits + first, sizeof digits - first));
  }
  void hex(std::uint32_t value) noexcept {
    for (int i = 0; i < 8; ++i) *at_++ = kHex[(value >> (28 - 4 * i)) & 15];
  }
  // A file name from the compiler: escaped only where that is needed, which is hardly ever.
  void file(std::string_view name) noexcept {
    const std::size_t plain = tiffany::detail::plain_bytes(name);
    add(name.substr(0, plain));
    for (const char c : name.substr(plain)) {
      if (c == '"' || c == '\\') *at_++ = '\\';
      *at_++ = static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  char* at() const noexcept { return at_; }

 private:
  char* at_;
};

bool take(std::string_view& rest, std::string_view what) noexcept {
  if (!rest.starts_with(what)) return false;
  rest.remove_prefix(what.size());
  return true;
}

bool take_number(std::string_view& rest, std::uint64_t& number) noexcept {
  const auto got = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (got.ec != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(got.ptr - rest.data()));
  return true;
}

}  // namespace

std::string_view name_of(RecordType type) noexcept {
  return type == RecordType::unknown ? "unknown" : kNames[static_cast<std::size_t>(type)];
}

RecordType record_type(std::string_view name) noexcept {
  // The one that most records have.
  if (name == kNames[static_cast<std::size_t>(RecordType::StepEnd)]) return RecordType::StepEnd;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<RecordType>(i);
  }
  return RecordType::unknown;
}

std::string text_of_time(std::int64_t microseconds) { return utc_text(microseconds); }

std::optional<std::int64_t> parse_time(std::string_view text) noexcept { return parse_utc(text); }

void append_line(std::string& out, const Entry& entry, std::string_view ts, std::uint32_t seed,
                 bool first_of_batch) {
  constexpr std::size_t kAround = 256;  // the names, the numbers and the type have less
  const std::size_t start = out.size();
  out.resize(start + kAround + ts.size() + entry.task.size() + entry.payload.size() +
             2 * entry.file.size());
  char* const line = out.data() + start;
  Pen pen(line);
  if (first_of_batch) pen.add(" ");
  pen.add(R"({"v":1,"ts":")");
  pen.add(ts);
  pen.add(kType);
  pen.add(name_of(entry.type));
  pen.add(kTask);
  pen.add(entry.task);
  pen.add("\"");
  if (!entry.payload.empty()) {
    pen.add(",");
    pen.add(entry.payload);
  }
  pen.add(kSeq);
  pen.number(entry.seq);
  pen.add(R"(,"tid":)");
  pen.number(entry.tid);
  pen.add(R"(,"vt":)");
  pen.number(static_cast<std::uint64_t>(entry.vt < 0 ? 0 : entry.vt));
  if (!entry.file.empty()) {
    pen.add(R"(,"loc":")");
    pen.file(entry.file);
    pen.add(":");
    pen.number(entry.line);
    pen.add("\"");
  }
  if (entry.cause != 0) {
    pen.add(R"(,"cause":)");
    pen.number(entry.cause);
  }
  const auto size = static_cast<std::size_t>(pen.at() - line);
  const std::uint32_t crc = crc32c(std::string_view(line, size), seed);
  pen.add(kCrc);
  pen.hex(crc);
  pen.add("\"}\n");
  out.resize(static_cast<std::size_t>(pen.at() - out.data()));
}

LineFault read_line(std::string_view line, std::uint32_t seed, RecordView& view) noexcept {
  view = RecordView();
  view.line = line;
  std::string_view rest = line;
  view.first_of_batch = take(rest, " ");
  std::uint64_t version = 0;
  if (rest.size() < kTail || !take(rest, kOpen) || !take_number(rest, version)) {
    return LineFault::not_a_record;
  }
  const std::string_view tail = line.substr(line.size() - kTail);
  if (!tail.starts_with(kCrc) || !tail.ends_with("\"}")) return LineFault::not_a_record;
  std::uint32_t found = 0;
  const std::string_view hex = tail.substr(kCrc.size(), 8);
  const auto got = std::from_chars(hex.data(), hex.data() + hex.size(), found, 16);
  if (got.ec != std::errc() || got.ptr != hex.data() + hex.size()) return LineFault::not_a_record;
  if (crc32c(line.substr(0, line.size() - kTail), seed) != found) return LineFault::checksum;
  if (version != kVersion) return LineFault::version;
  if (!take(rest, kTs) || rest.size() < kTsSize) return LineFault::not_a_record;
  view.ts = rest.substr(0, kTsSize);
  rest.remove_prefix(kTsSize);
  if (!take(rest, kType)) return LineFault::not_a_record;
  view.type_name = rest.substr(0, rest.find('"'));
  view.type = record_type(view.type_name);
  rest.remove_prefix(view.type_name.size());
  if (!take(rest, kTask) || rest.size() < kUuidSize + 1) return LineFault::not_a_record;
  view.task = rest.substr(0, kUuidSize);
  rest.remove_prefix(kUuidSize);
  if (!take(rest, "\"")) return LineFault::not_a_record;
  // After the number of the record come only numbers and a place: the last that looks like one is
  // it.
  if (rest.size() < kTail) return LineFault::not_a_record;
  std::size_t seq = rest.size() - kTail;
  while (!(rest[seq] == ',' && rest.substr(seq).starts_with(kSeq))) {
    if (seq-- == 0) return LineFault::not_a_record;
  }
  if (seq > 0) view.payload = rest.substr(1, seq - 1);
  rest.remove_prefix(seq + kSeq.size());
  return take_number(rest, view.seq) ? LineFault::none : LineFault::not_a_record;
}

Checksums checksums_of(std::string_view line, std::uint32_t seed) {
  Checksums both;
  if (line.size() < kTail) return both;
  both.found = line.substr(line.size() - 10, 8);
  append_hex(both.expected, crc32c(line.substr(0, line.size() - kTail), seed));
  return both;
}

std::optional<std::string> mended(std::string_view line, std::uint32_t seed) {
  RecordView view;
  if (read_line(line, seed, view) != LineFault::checksum) return std::nullopt;
  const Checksums both = checksums_of(line, seed);
  std::uint32_t found = 0;
  std::uint32_t expected = 0;
  std::from_chars(both.found.data(), both.found.data() + 8, found, 16);
  std::from_chars(both.expected.data(), both.expected.data() + 8, expected, 16);
  std::string out(line);
  // A wrong bit, so many bits before the end, changes the checksum by this much whatever the line
  // is.
  std::uint32_t change = 1;
  for (std::size_t bit = 0; bit < (line.size() - kTail) * 8; ++bit) {
    change = (change >> 1) ^ ((change & 1) != 0 ? 0x82F63B78u : 0u);
    if (change != (found ^ expected)) continue;
    char& wrong = out[line.size() - kTail - 1 - bit / 8];
    wrong = static_cast<char>(wrong ^ (0x80 >> bit % 8));
    return read_line(out, seed, view) == LineFault::none ? std::optional(out) : std::nullopt;
  }
  // Or it is a bit of the checksum.
  std::size_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    bits += static_cast<std::size_t>(
        std::popcount(static_cast<unsigned char>(both.found[i] ^ both.expected[i])));
  }
  out.replace(out.size() - 10, 8, both.expected);
  return bits == 1 && read_line(out, seed, view) == LineFault::none ? std::optional(out)
                                                                    : std::nullopt;
}

std::string reseeded(std::string_view line, std::uint32_t seed, bool first_of_batch) {
  if (line.starts_with(' ')) line.remove_prefix(1);
  std::string out(first_of_batch ? " " : "");
  out += line.substr(0, line.size() - kTail);
  const std::uint32_t crc = crc32c(out, seed);
  out += kCrc;
  append_hex(out, crc);
  out += "\"}\n";
  return out;
}

}  // namespace tiffany::wal
