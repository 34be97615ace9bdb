#include "agent/pattern.hpp"

#include <algorithm>
#include <utility>

#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

using PatternOp = Pattern::Op;
using OpKind = Pattern::Op::Kind;

constexpr std::size_t kLongestPattern = 1'000;
constexpr std::size_t kMostOps = 20'000;
constexpr std::size_t kMostRepeats = 100;
constexpr int kDeepestGroup = 50;

bool is_word_byte(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Pattern::Bytes bytes_between(unsigned from, unsigned to) {
  Pattern::Bytes set;
  for (unsigned c = from; c <= to; ++c) set.set(c);
  return set;
}

// Of \d and its like; empty: the letter means none.
Pattern::Bytes bytes_of_class(char letter) {
  Pattern::Bytes set;
  switch (letter) {
    case 'd':
    case 'D':
      set = bytes_between('0', '9');
      break;
    case 'w':
    case 'W':
      for (unsigned c = 0; c < 256; ++c) set.set(c, is_word_byte(static_cast<unsigned char>(c)));
      break;
    case 's':
    case 'S':
      for (const char c : {' ', '\t', '\n', '\r', '\f', '\v'})
        set.set(static_cast<unsigned char>(c));
      break;
    default:
      return set;
  }
  return letter < 'a' ? ~set : set;
}

// Makes the program of a pattern. Pieces are programs whose places count from their own beginning.
class PatternParser {
 public:
  PatternParser(std::string_view text, bool ignore_case, std::vector<Pattern::Bytes>& sets)
      : text_(text), ignore_case_(ignore_case), sets_(sets) {}

  std::vector<PatternOp> all() {
    if (text_.size() > kLongestPattern) refuse("is longer than 1000 bytes");
    std::vector<PatternOp> made = alternatives(0);
    if (at_ < text_.size()) refuse("has a ')' without '('");
    made.push_back({OpKind::match, 0, 0});
    return made;
  }
  std::vector<PatternOp> literal() {
    std::vector<PatternOp> made;
    for (const char c : text_) append(made, one(c));
    made.push_back({OpKind::match, 0, 0});
    return made;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Errc::bad_tool, "The pattern '" + detail::shown(text_.substr(0, 100)) + "' " + why +
                                    ". Search for a text without \"regex\", or simplify it.");
  }
  bool ahead(char c) const { return at_ < text_.size() && text_[at_] == c; }
  char next() {
    if (at_ == text_.size()) refuse("ends too early");
    return text_[at_++];
  }

  void append(std::vector<PatternOp>& to, const std::vector<PatternOp>& piece) const {
    const auto by = static_cast<std::uint32_t>(to.size());
    for (PatternOp op : piece) {
      if (op.kind == OpKind::split) op.second += by;
      if (op.kind != OpKind::bytes) op.first += by;
      to.push_back(op);
    }
    if (to.size() > kMostOps) refuse("is too large");
  }
  static std::uint32_t size_of(const std::vector<PatternOp>& piece) {
    return static_cast<std::uint32_t>(piece.size());
  }

  std::vector<PatternOp> of_set(Pattern::Bytes set) {
    if (ignore_case_) {
      for (unsigned c = 'a'; c <= 'z'; ++c) {
        const bool either = set.test(c) || set.test(c - 'a' + 'A');
        set.set(c, either);
        set.set(c - 'a' + 'A', either);
      }
    }
    sets_.push_back(set);
    return {PatternOp{OpKind::bytes, static_cast<std::uint32_t>(sets_.size() - 1), 0}};
  }
  std::vector<PatternOp> one(char c) {
    Pattern::Bytes set;
    set.set(static_cast<unsigned char>(c));
    return of_set(set);
  }

  std::vector<PatternOp> alternatives(int depth) {  // NOLINT(misc-no-recursion)
    std::vector<PatternOp> made = sequence(depth);
    while (ahead('|')) {
      ++at_;
      const std::vector<PatternOp> other = sequence(depth);
      std::vector<PatternOp> both{{OpKind::split, 1, size_of(made) + 2}};
      append(both, made);
      both.push_back({OpKind::jump, size_of(made) + 2 + size_of(other), 0});
      append(both, other);
      made = std::move(both);
    }
    return made;
  }

  std::vector<PatternOp> sequence(int depth) {  // NOLINT(misc-no-recursion)
    std::vector<PatternOp> made;
    while (at_ < text_.size() && !ahead('|') && !ahead(')')) append(made, repeated(depth));
    return made;
  }

  std::vector<PatternOp> repeated(int depth) {  // NOLINT(misc-no-recursion)
    std::vector<PatternOp> piece = atom(depth);
    if (ahead('*') || ahead('+') || ahead('?')) {
      const char how = next();
      piece = repeat(piece, how == '+' ? 1 : 0, how == '?' ? 1 : 0);
    } else if (ahead('{')) {
      piece = counted(piece);
    } else {
      return piece;
    }
    if (ahead('?')) ++at_;  // as little as possible: the same lines are found
    if (ahead('*') || ahead('+') || ahead('?') || ahead('{')) {
      refuse("has a repetition of a repetition");
    }
    return piece;
  }

  // `most` zero: without end.
  std::vector<PatternOp> repeat(const std::vector<PatternOp>& piece, std::size_t least,
                                std::size_t most) const {
    std::vector<PatternOp> made;
    for (std::size_t i = 0; i < least; ++i) append(made, piece);
    if (most == 0) {
      std::vector<PatternOp> loop{{OpKind::split, 1, size_of(piece) + 2}};
      append(loop, piece);
      loop.push_back({OpKind::jump, 0, 0});
      append(made, loop);
    }
    for (std::size_t i = least; i < most; ++i) {
      std::vector<PatternOp> maybe{{OpKind::split, 1, size_of(piece) + 1}};
      append(maybe, piece);
      append(made, maybe);
    }
    return made;
  }

  std::vector<PatternOp> counted(const std::vector<PatternOp>& piece) {
    ++at_;
    const std::size_t least = number();
    std::size_t most = least;
    if (ahead(',')) {
      ++at_;
      most = ahead('}') ? 0 : number();
      if (most != 0 && most < least) refuse("has a repetition that ends before it begins");
    } else if (least == 0) {
      refuse("has a repetition of zero times");
    }
    if (next() != '}') refuse("has a '{' that begins no repetition; write \\{");
    return repeat(piece, least, most);
  }
  std::size_t number() {
    std::size_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      if (value > kMostRepeats) refuse("repeats more than 100 times");
    }
    if (at_ == begin) refuse("has a '{' that begins no repetition; write \\{");
    return value;
  }

  std::vector<PatternOp> atom(int depth) {  // NOLINT(misc-no-recursion)
    const char c = next();
    switch (c) {
      case '(': {
        if (depth == kDeepestGroup) refuse("has more than 50 groups in one another");
        if (ahead('?')) {
          ++at_;
          if (next() != ':') refuse("looks around or names a group, which is not supported");
        }
        std::vector<PatternOp> inner = alternatives(depth + 1);
        if (!ahead(')')) refuse("has a '(' without ')'");
        ++at_;
        return inner;
      }
      case '[':
        return of_set(class_set());
      case '.':
        return of_set(~Pattern::Bytes());
      case '^':
        return {PatternOp{OpKind::line_begin, 1, 0}};
      case '$':
        return {PatternOp{OpKind::line_end, 1, 0}};
      case '*':
      case '+':
      case '?':
        refuse("repeats nothing");
      case '{':
        refuse("has a '{' that begins no repetition; write \\{");
      case '\\':
        return escaped();
      default:
        return one(c);
    }
  }

  std::vector<PatternOp> escaped() {
    const char c = next();
    if (c == 'b') return {PatternOp{OpKind::word_edge, 1, 0}};
    if (const Pattern::Bytes set = bytes_of_class(c); set.any()) return of_set(set);
    return one(escaped_byte(c));
  }
  char escaped_byte(char c) const {
    if (c == 't') return '\t';
    if (c == 'r') return '\r';
    if (c == 'n') refuse("has a line break, and lines are searched one by one");
    if (is_word_byte(static_cast<unsigned char>(c))) refuse("has an escape that is not supported");
    return c;
  }

  Pattern::Bytes class_set() {
    Pattern::Bytes set;
    const bool inverted = ahead('^');
    if (inverted) ++at_;
    for (bool first = true; first || !ahead(']'); first = false) {
      char from = next();
      if (from == '[' && ahead(':')) refuse("has a named class, which is not supported");
      if (from == '\\') {
        const char letter = next();
        if (const Pattern::Bytes named = bytes_of_class(letter); named.any()) {
          set |= named;
          continue;
        }
        from = escaped_byte(letter);
      }
      char to = from;
      if (ahead('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        to = next();
        if (to == '\\') to = escaped_byte(next());
      }
      const auto low = static_cast<unsigned char>(from);
      const auto high = static_cast<unsigned char>(to);
      if (high < low) refuse("has a range that ends before it begins");
      set |= bytes_between(low, high);
    }
    ++at_;
    return inverted ? ~set : set;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ignore_case_;
  std::vector<Pattern::Bytes>& sets_;
};

}  // namespace

Pattern::Pattern(std::string_view text, bool ignore_case) {
  ops_ = PatternParser(text, ignore_case, sets_).all();
  // What can be first: everything that is reached without a byte.
  std::vector<std::uint32_t> pending{0};
  std::vector<bool> seen(ops_.size());
  while (!pending.empty()) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const PatternOp& op = ops_[at];
    if (op.kind == OpKind::bytes) {
      begins_ |= sets_[op.first];
    } else if (op.kind == OpKind::split || op.kind == OpKind::jump) {
      pending.push_back(op.first);
      if (op.kind == OpKind::split) pending.push_back(op.second);
    } else {
      anywhere_ = true;
    }
  }
}

Pattern Pattern::literal(std::string_view text, bool ignore_case) {
  Pattern made;
  made.ops_ = PatternParser(text, ignore_case, made.sets_).literal();
  if (made.sets_.empty()) {
    made.anywhere_ = true;
  } else {
    made.begins_ = made.sets_.front();
  }
  return made;
}

// Follows what needs no byte. `seen` has the mark of the place where an op was last reached.
void Pattern::add(std::vector<std::uint32_t>& threads, std::vector<std::uint32_t>& seen,
                  std::vector<std::uint32_t>& pending, std::uint32_t mark, std::uint32_t at,
                  std::string_view line, std::size_t place) const {
  const auto word = [&](std::size_t i) {
    return i < line.size() && is_word_byte(static_cast<unsigned char>(line[i]));
  };
  pending.assign(1, at);
  while (!pending.empty()) {
    const std::uint32_t now = pending.back();
    pending.pop_back();
    if (std::exchange(seen[now], mark) == mark) continue;
    const PatternOp& op = ops_[now];
    switch (op.kind) {
      case OpKind::split:
        pending.push_back(op.second);
        pending.push_back(op.first);
        break;
      case OpKind::jump:
        pending.push_back(op.first);
        break;
      case OpKind::line_begin:
        if (place == 0) pending.push_back(op.first);
        break;
      case OpKind::line_end:
        if (place == line.size()) pending.push_back(op.first);
        break;
      case OpKind::word_edge:
        if ((place > 0 && word(place - 1)) != word(place)) pending.push_back(op.first);
        break;
      default:
        threads.push_back(now);
    }
  }
}

bool Pattern::found_in(std::string_view line) const {
  std::vector<std::uint32_t> threads;
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> pending;
  std::vector<std::uint32_t> seen(ops_.size(), 0);
  std::uint32_t mark = 0;
  for (std::size_t place = 0; place <= line.size(); ++place) {
    const bool may_begin =
        anywhere_ || (place < line.size() && begins_.test(static_cast<unsigned char>(line[place])));
    if (threads.empty() && !may_begin) continue;
    if (threads.empty()) ++mark;
    if (may_begin) add(threads, seen, pending, mark, 0, line, place);
    next.clear();
    ++mark;
    for (const std::uint32_t at : threads) {
      const PatternOp& op = ops_[at];
      if (op.kind == OpKind::match) return true;
      if (place < line.size() && sets_[op.first].test(static_cast<unsigned char>(line[place]))) {
        add(next, seen, pending, mark, at + 1, line, place + 1);
      }
    }
    std::swap(threads, next);
  }
  return false;
}

}  // namespace tiffany::agent
