#include "filter_code.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "files.hpp"

namespace tiffany::supervisor {

sock_filter load(std::size_t offset) noexcept {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter argument(int number) noexcept {
  return load(offsetof(seccomp_data, args) + static_cast<std::size_t>(number) * 8);
}
sock_filter give(std::uint32_t verdict) noexcept { return BPF_STMT(BPF_RET | BPF_K, verdict); }
sock_filter jump(int test, std::uint32_t with, std::size_t yes, std::size_t no) noexcept {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), with,
                  static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no));
}

Code always(std::uint32_t verdict) { return {give(verdict)}; }

namespace {

void append(Code& to, const Code& more) { to.insert(to.end(), more.begin(), more.end()); }

// The kernel translates a filter when it is entered, which takes as long as the filter is: calls
// that are beside each other and end in the same way are one, and equal ends are there once.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t end = 0;  // in Search::ends_
};

// By halves, so that a call costs few comparisons.
class Search {
 public:
  Search(Calls::const_iterator from, Calls::const_iterator to) {
    ends_.push_back(always(kAllow));
    for (; from != to; ++from) {
      const auto number = static_cast<std::uint32_t>(from->first);
      const std::size_t end = end_of(from->second);
      if (!ranges_.empty() && ranges_.back().last + 1 == number && ranges_.back().end == end) {
        ++ranges_.back().last;
      } else {
        ranges_.push_back({number, number, end});
      }
    }
    split(0, ranges_.size());
    link();
  }
  const Code& code() const noexcept { return code_; }

 private:
  static constexpr std::size_t kNext = ~std::size_t{0};
  struct Link {
    std::size_t at;
    std::size_t yes;  // an end, or kNext
    std::size_t no;
  };

  std::size_t end_of(const Code& code) {
    const auto same = [&](const Code& other) {
      return other.size() == code.size() &&
             std::memcmp(other.data(), code.data(), code.size() * sizeof(sock_filter)) == 0;
    };
    const auto at = std::find_if(ends_.begin(), ends_.end(), same) - ends_.begin();
    if (at == std::ssize(ends_)) ends_.push_back(code);
    return static_cast<std::size_t>(at);
  }
  void test(int how, std::uint32_t with, std::size_t yes, std::size_t no) {
    links_.push_back({code_.size(), yes, no});
    code_.push_back(jump(how, with, 0, 0));
  }
  void split(std::size_t first, std::size_t count) {
    if (count > 3) {
      const std::size_t at = code_.size();
      const std::size_t lower = count / 2;
      code_.push_back(jump(BPF_JGE, ranges_[first + lower].first, 0, 0));
      split(first, lower);
      code_[at].jt = distance(at, code_.size());
      return split(first + lower, count - lower);
    }
    for (std::size_t i = first; i < first + count; ++i) {
      const Range& range = ranges_[i];
      if (range.first == range.last) {
        test(BPF_JEQ, range.first, range.end, kNext);
      } else {
        test(BPF_JGE, range.first, kNext, 0);
        test(BPF_JGT, range.last, kNext, range.end);
      }
    }
    code_.push_back(give(kAllow));
  }
  void link() {
    std::vector<std::size_t> places;
    for (const Code& end : ends_) {
      places.push_back(code_.size());
      append(code_, end);
    }
    for (const Link& each : links_) {
      if (each.yes != kNext) code_[each.at].jt = distance(each.at, places[each.yes]);
      if (each.no != kNext) code_[each.at].jf = distance(each.at, places[each.no]);
    }
  }
  static std::uint8_t distance(std::size_t from, std::size_t to) {
    if (to - from - 1 > 255) throw Refusal("A seccomp filter has become too long for its jumps.");
    return static_cast<std::uint8_t>(to - from - 1);
  }

  std::vector<Range> ranges_;
  std::vector<Code> ends_;
  std::vector<Link> links_;
  Code code_;
};

}  // namespace

// In two parts, because a test reaches no further than 255 instructions.
Code search(const Calls& calls) {
  const auto middle = std::next(calls.begin(), static_cast<std::ptrdiff_t>(calls.size() / 2));
  const Search lower(calls.begin(), middle);
  Code code;
  code.push_back(jump(BPF_JGE, static_cast<std::uint32_t>(middle->first), 0, 1));
  code.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(lower.code().size())));
  append(code, lower.code());
  append(code, Search(middle, calls.end()).code());
  return code;
}

}  // namespace tiffany::supervisor
