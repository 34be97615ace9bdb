#include "tiffany/core/site.hpp"

#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace tiffany {
namespace site_test {

using namespace test;

TEST(Site, P6_TheNameOfAFunctionIsTheSameHoweverTheCompilerSpellsIt) {
  struct {
    const char* gcc;
    const char* clang;
    const char* name;
  } const cases[] = {
      {"void vec(vec()::_Z3vecv.Frame*)", "Task<std::vector<int>> vec()", "vec"},
      {"void ns::S::method(ns::S::method(int)::_ZN2ns1S6methodEi.Frame*)",
       "Task<void> ns::S::method(int)", "method"},
      {"void ns::templ(templ<int>(int)::_Z5templ.Frame*)", "Task<T> ns::templ(T) [T = int]",
       "templ"},
      {"void {anonymous}::fetch({anonymous}::fetch(int)::_ZN12_GLOBAL.Frame*)",
       "Task<int> (anonymous namespace)::fetch(int)", "fetch"},
      {"void call(call(int)::_Z4calli.Frame*)", "Task<std::function<int (int)>> call(int)", "call"},
      {"void Box<T>::get(Box<T>::get()::_ZN3BoxIiE3getEv.Frame*) [with T = int]",
       "Task<T> Box<std::pair<int, int>>::get() [T = int]", "get"},
      {"int main()", "int main()", "main"},
      // Where they do not agree, nothing.
      {"void Fn::operator()(Fn::operator()(int) const::_ZNK2FnclEi.Frame*)",
       "Task<void> Fn::operator()(int) const", ""},
      {"void program()::<lambda(int)>::operator()(program()::<lambda(int)>::_ZZ.Frame*)",
       "auto program()::(lambda)::operator()(int) const", ""},
      {"void <lambda(int)>::operator()(<lambda(int)>::_ZN.Frame*)",
       "auto (lambda)::operator()(int) const", ""},
      {"", "", ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(bare_name(c.gcc), c.name) << c.gcc;
    EXPECT_EQ(bare_name(c.clang), c.name) << c.clang;
  }
}

class Frames final : public FrameVisitor {
 public:
  void on_frame(const std::source_location& site) override {
    names.emplace_back(function_text(site));
  }
  Trace names;
};

struct Shop {
  template <class T>
  Task<T> sell(T what) const {
    co_await sleep(1ms);
    co_return what;
  }
};
Task<int> buy() { co_return co_await Shop().sell(1); }

TEST(Site, P6_TheNamesOfCoroutinesAreThoseInTheSource) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> { static_cast<void>(co_await buy()); };
  auto handle = scheduler.spawn(std::ref(program));
  scheduler.step_until_idle();
  Frames frames;
  scheduler.find(handle.id())->visit_frames(frames);
  EXPECT_EQ(frames.names, Trace({"sell", "buy", ""}));
  scheduler.run();
}

TEST(Site, P6_OurOwnPlacesAreShownWithoutTheirLines) {
  const std::source_location here = std::source_location::current();
  EXPECT_FALSE(in_library(here));
  EXPECT_EQ(site_text(here), "site_test.cpp:" + std::to_string(here.line()));
  EXPECT_EQ(file_text(here), "site_test.cpp");
  Scheduler scheduler(Options().virtual_time());
  const auto block = [](Scope& s) -> Task<void> {
    const auto sleeper = []() -> Task<void> { co_await sleep(1ms); };
    s.spawn(sleeper);
    co_return;
  };
  const auto program = [&]() -> Task<void> { co_await scope(block); };
  scheduler.spawn(std::ref(program));
  scheduler.step_until_idle();
  const std::string report = scheduler.wait_report();
  EXPECT_NE(report.find("\n      at blocks.cpp in close_scope"
                        "\n      at blocks.hpp in scope_block"
                        "\n      at site_test.cpp:"),
            std::string::npos)
      << report;
  scheduler.run();
}

}  // namespace site_test
}  // namespace tiffany
