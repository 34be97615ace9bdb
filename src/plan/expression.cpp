#include "plan/expression.hpp"

#include <cctype>
#include <cstdlib>

#include "tiffany/base/error.hpp"

namespace tiffany::plan {
namespace {

constexpr int kDeepestBrackets = 32;

bool is_name_character(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool truth_of(const std::string& value) noexcept { return !value.empty() && value != "false"; }

std::optional<double> number_of(const std::string& text) {
  if (text.empty() || text.size() > 40) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  return number;
}

// Reads and evaluates at once; what is not asked for because of && and || is read all the same.
class Evaluation {
 public:
  Evaluation(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}
  std::string whole() {
    std::string value = either();
    skip();
    if (at_ != text_.size()) fail("there is more behind its end");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw ExpressionProblem{"The expression \"" + std::string(text_.substr(0, 200)) +
                            "\" cannot be read: " + why + " at character " +
                            std::to_string(at_ + 1) + "."};
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::string either() {
    if (++depth_ > kDeepestBrackets) fail("its brackets stand too deep in one another");
    std::string value = both();
    while (take("||")) {
      const std::string other = both();
      if (!truth_of(value)) value = other;
    }
    --depth_;
    return value;
  }
  std::string both() {
    std::string value = negation();
    while (take("&&")) {
      const std::string other = negation();
      if (truth_of(value)) value = other;
    }
    return value;
  }
  std::string negation() {
    bool negated = false;
    bool any = false;
    for (skip(); at_ < text_.size() && text_[at_] == '!' && !text_.substr(at_).starts_with("!=");
         skip()) {
      ++at_;
      negated = !negated;
      any = true;
    }
    std::string value = comparison();
    if (!any) return value;
    return truth_of(value) != negated ? "true" : "false";
  }
  std::string comparison() {
    const std::string left = operand();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      return compare(left, sign, operand()) ? "true" : "false";
    }
    return left;
  }
  static bool compare(const std::string& left, std::string_view sign, const std::string& right) {
    const std::optional<double> a = number_of(left);
    const std::optional<double> b = number_of(right);
    const bool numbers = a && b;
    const bool less = numbers ? *a < *b : left < right;
    const bool equal = numbers ? *a == *b : left == right;
    if (sign == "==") return equal;
    if (sign == "!=") return !equal;
    if (sign == "<") return less;
    if (sign == "<=") return less || equal;
    if (sign == ">") return !less && !equal;
    return !less;
  }
  std::string operand() {
    skip();
    if (at_ == text_.size()) fail("a value is missing");
    const char first = text_[at_];
    if (first == '\'' || first == '"') return quoted(first);
    if (take("(")) {
      std::string value = either();
      if (!take(")")) fail("a ')' is missing");
      return value;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) fail("a value is missing");
    if (word == "true" || word == "false" || number_of(word)) return word;
    std::optional<std::string> value = lookup_(word);
    if (!value) fail("nothing is known of \"" + word + "\"");
    return *value;
  }
  std::string quoted(char mark) {
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) fail("a quotation mark has no other one");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  std::string_view text_;
  const Lookup& lookup_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

constexpr std::string_view kOpen = "${{";
constexpr std::string_view kClose = "}}";

std::string expanded(std::string_view text, const Lookup& lookup) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find(kOpen, at);
    out += text.substr(at, open - at);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find(kClose, open);
    if (close == std::string_view::npos) {
      throw ExpressionProblem{"A \"${{\" has no \"}}\" behind it."};
    }
    const std::size_t inside = open + kOpen.size();
    out += Evaluation(text.substr(inside, close - inside), lookup).whole();
    at = close + kClose.size();
  }
}

template <class F>
auto or_error(F f) {
  try {
    return f();
  } catch (const ExpressionProblem& problem) {
    throw Error(Errc::bad_plan, problem.sentence);
  }
}

Lookup noting(std::vector<std::string>& paths) {
  return [&paths](std::string_view path) {
    paths.emplace_back(path);
    return std::optional<std::string>("");
  };
}

}  // namespace

std::string expand(std::string_view text, const Lookup& lookup) {
  return or_error([&] { return expanded(text, lookup); });
}
bool holds(std::string_view expression, const Lookup& lookup) {
  return or_error([&] { return truth_of(Evaluation(expression, lookup).whole()); });
}
std::vector<std::string> paths_in_text(std::string_view text) {
  std::vector<std::string> paths;
  expanded(text, noting(paths));
  return paths;
}
std::vector<std::string> paths_in(std::string_view expression) {
  std::vector<std::string> paths;
  const Lookup note = noting(paths);
  static_cast<void>(Evaluation(expression, note).whole());
  return paths;
}

}  // namespace tiffany::plan
