// For tests of durable tasks over a log in memory, in both layouts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "durable/logged_crash_test.hpp"
#include "durable/stores.hpp"

namespace tiffany {

// What steps did to the world, while there was one.
class Effects : public std::vector<std::string> {
 public:
  void push_back(std::string what) {
    if (CrashTest::alive()) vector::push_back(std::move(what));
  }
};
inline Effects effects;

class MemoryTest : public testing::TestWithParam<StoreKind> {
 protected:
  MemoryTest() : world(GetParam()) {
    world.provider = GetParam().provider();
    effects.clear();
  }

  template <class R, class... As>
  void only(std::string name, Durable<R> (*body)(Flow&, As...)) {
    world.types = [name, body] {
      Registry types;
      types.add(name, 1, body);
      return types;
    };
  }
  // What a Task fails with; Errc{} when it does not.
  template <class T>
  static Task<Errc> error_of(Task<T> task) {
    try {
      co_await std::move(task);
    } catch (const Error& e) {
      co_return e.code();
    }
    co_return Errc{};
  }

  LoggedCrashTest world;
};

// What these tests do is seen in the files of a log.
#define TIFFANY_IN_BOTH_LAYOUTS(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(StoreKind::logs()), StoreKind::name)
#define TIFFANY_IN_EVERY_STORE(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(StoreKind::all()), StoreKind::name)

}  // namespace tiffany
