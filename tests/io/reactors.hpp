// Every test of this module runs on io_uring and on epoll, and must not tell them apart.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tiffany/io/system_reactor.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany {

class OnEveryReactor : public testing::TestWithParam<ReactorKind> {
 protected:
  void SetUp() override {
    if (GetParam() == ReactorKind::uring && !uring_works()) {
      GTEST_SKIP() << "this kernel does not let us use io_uring";
    }
  }
  Options options() { return Options().clock(system_reactor(GetParam())); }
};

inline std::string name_of_reactor(const testing::TestParamInfo<ReactorKind>& info) {
  return info.param == ReactorKind::uring ? "uring" : "epoll";
}

#define TIFFANY_ON_EVERY_REACTOR(fixture)                                                      \
  INSTANTIATE_TEST_SUITE_P(, fixture, testing::Values(ReactorKind::uring, ReactorKind::epoll), \
                           name_of_reactor)

}  // namespace tiffany
