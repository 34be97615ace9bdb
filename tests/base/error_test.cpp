#include "tiffany/base/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tiffany {
namespace error_test {

std::vector<Errc> all_codes() {
  return {
#define X(name, number, text) Errc::name,
      TIFFANY_ERRORS(X)
#undef X
  };
}

TEST(Error, EveryNumberIsUsedOnceAndHasAMeaning) {
  std::set<int> numbers;
  std::set<std::string> meanings;
  for (Errc code : all_codes()) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(code)).second) << static_cast<int>(code);
    EXPECT_TRUE(meanings.insert(meaning(code)).second) << meaning(code);
    EXPECT_STRNE(meaning(code), "");
  }
  EXPECT_STREQ(meaning(static_cast<Errc>(7)), "not an error of Tiffany");
}

// Logs and other programs refer to these; a number that changes breaks them.
TEST(Error, NumbersAreStable) {
  EXPECT_EQ(static_cast<int>(Errc::deadlock), 101);
  EXPECT_EQ(static_cast<int>(Errc::task_cancelled), 102);
  EXPECT_EQ(static_cast<int>(Errc::scope_cancelled), 103);
  EXPECT_EQ(static_cast<int>(Errc::timed_out), 104);
  EXPECT_EQ(static_cast<int>(Errc::all_failed), 105);
  EXPECT_EQ(static_cast<int>(Errc::broken_promise), 106);
  EXPECT_EQ(static_cast<int>(Errc::already_settled), 107);
  EXPECT_EQ(static_cast<int>(Errc::empty_race), 108);
  EXPECT_EQ(static_cast<int>(Errc::bad_argument), 109);
  EXPECT_EQ(static_cast<int>(Errc::no_task), 110);
  EXPECT_EQ(static_cast<int>(Errc::stale_handle), 111);
  EXPECT_EQ(static_cast<int>(Errc::value_taken), 112);
  EXPECT_EQ(static_cast<int>(Errc::nested_run), 113);
  EXPECT_EQ(static_cast<int>(Errc::unknown_promise), 114);
  EXPECT_EQ(static_cast<int>(Errc::diverged), 115);
  EXPECT_EQ(static_cast<int>(Errc::no_wake_source), 116);
  EXPECT_EQ(static_cast<int>(Errc::self_join), 117);
  EXPECT_EQ(static_cast<int>(Errc::not_in_context), 120);
  EXPECT_EQ(static_cast<int>(Errc::no_handler), 121);
  EXPECT_EQ(static_cast<int>(Errc::key_type), 122);
  EXPECT_EQ(static_cast<int>(Errc::tasks_failed), 130);
  EXPECT_EQ(static_cast<int>(Errc::supervision_failed), 131);
  EXPECT_EQ(static_cast<int>(Errc::system_task_failed), 132);
  EXPECT_EQ(static_cast<int>(Errc::unknown_task), 133);
  EXPECT_EQ(static_cast<int>(Errc::dependency_failed), 134);
  EXPECT_EQ(static_cast<int>(Errc::bad_graph), 135);
  EXPECT_EQ(static_cast<int>(Errc::mailbox_closed), 140);
  EXPECT_EQ(static_cast<int>(Errc::check_failed), 141);
  EXPECT_EQ(static_cast<int>(Errc::no_answer), 142);
  EXPECT_EQ(static_cast<int>(Errc::never_ends), 143);
  EXPECT_EQ(static_cast<int>(Errc::spawn_denied), 150);
  EXPECT_EQ(static_cast<int>(Errc::channel_closed), 160);
  EXPECT_EQ(static_cast<int>(Errc::relock), 161);
  EXPECT_EQ(static_cast<int>(Errc::primitive_gone), 162);
  EXPECT_EQ(static_cast<int>(Errc::holds_nothing), 163);
  EXPECT_EQ(static_cast<int>(Errc::bad_json), 300);
}

TEST(Error, CarriesItsCodeAndItsSentenceAsAStandardException) {
  try {
    throw Error(Errc::bad_argument, "A sentence.");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "A sentence.");
    EXPECT_EQ(dynamic_cast<const Error&>(error).code(), Errc::bad_argument);
  }
}

}  // namespace error_test
}  // namespace tiffany
