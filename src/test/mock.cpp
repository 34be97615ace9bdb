#include "tiffany/test/mock.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany::test::detail {

std::string Forever::describe() const {
  return "an answer that the mock " + mock_ + " never gives";
}

void throw_no_answer(const std::string& mock, std::size_t call, std::size_t scripted) {
  throw Error(Errc::no_answer, "Call " + std::to_string(call) + " of the mock " + mock +
                                   " has no answer: none of its rules accepts the arguments, and " +
                                   (scripted == 0 ? std::string("nothing else is scripted")
                                                  : "the " + std::to_string(scripted) +
                                                        " scripted answers have been given") +
                                   ". Script one more with returns(), throws() or hangs(), or add "
                                   "a rule with when() or always().");
}

}  // namespace tiffany::test::detail
