// The expressions of plans: ${{ steps.build.outputs.version }} in texts, and what an `if` says.
//
//   expression  = and { "||" and }
//   and         = not { "&&" not }
//   not         = "!" not | comparison
//   comparison  = value [ ("==" | "!=" | "<" | "<=" | ">" | ">=") value ]
//   value       = 'text' | "text" | number | true | false | path | "(" expression ")"
//   path        = name { "." name }
//
// All values are texts. Two that are numbers are compared as numbers. A text is true unless it is
// empty or "false". What an expression gives is never read again: it is one word, whatever it has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany::plan {

// What is wrong with an expression.
struct ExpressionProblem {
  std::string sentence;
};
// The value of a path; none: it is not known.
using Lookup = std::function<std::optional<std::string>(std::string_view path)>;

// Errc::bad_plan for what the checker would have refused.
std::string expand(std::string_view text, const Lookup& lookup);
bool holds(std::string_view expression, const Lookup& lookup);

// The paths that a text or an expression asks for, in their order. Throws ExpressionProblem.
std::vector<std::string> paths_in_text(std::string_view text);
std::vector<std::string> paths_in(std::string_view expression);

}  // namespace tiffany::plan
