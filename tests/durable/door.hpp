// For tests of what a host takes in from outside: tasks that take and give any JSON.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {

// Any JSON, as its text.
struct RawText {
  RawText() = default;
  explicit RawText(std::string json) : text(std::move(json)) {}
  std::string text;
};
template <>
struct Codec<RawText> {
  static void write(JsonWriter& out, const RawText& value) { out.raw_value(value.text); }
  static RawText read(JsonReader& in) { return RawText(std::string(in.raw())); }
};

// A struct that holds others of its kind.
struct Tree {
  Tree() = default;
  std::vector<Tree> below;
};
template <>
struct Codec<Tree> {
  static void write(JsonWriter& out, const Tree& tree) {
    out.begin_array();
    for (const Tree& each : tree.below) write(out, each);
    out.end_array();
  }
  static Tree read(JsonReader& in) {
    Tree tree;
    in.begin_array();
    while (in.next_element()) tree.below.push_back(read(in));
    return tree;
  }
};

namespace door {

using namespace std::chrono_literals;

inline std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}
inline Tree tree_of(std::size_t depth) {
  Tree tree;
  for (std::size_t i = 1; i < depth; ++i) {
    Tree above;
    above.below.push_back(std::move(tree));
    tree = std::move(above);
  }
  return tree;
}

class DoorTest : public MemoryTest {
 protected:
  static Durable<std::string> echoes(Flow&, RawText what) { co_return what.text; }
  static Durable<int> doubles(Flow&, int n) { co_return 2 * n; }
  static Durable<std::string> hears(Flow& flow) {
    const RawText heard = co_await flow.signal<RawText>("word");
    co_return heard.text;
  }
  static Durable<std::string> hopes(Flow& flow) {
    auto promise = co_await flow.promise<RawText>("hope");
    promise_id = promise.id();
    const RawText got = co_await promise;
    co_return got.text;
  }
  static Durable<RawText> gives(Flow&, int depth) {
    co_return RawText{nested(static_cast<std::size_t>(depth))};
  }
  static Durable<int> climbs(Flow& flow, int depth) {
    const Tree tree =
        co_await flow.step("grow", [&] { return tree_of(static_cast<std::size_t>(depth)); });
    co_return static_cast<int>(tree.below.size());
  }
  static Durable<int> spawns(Flow& flow, int depth) {
    auto child = co_await flow.spawn<std::string>("echoes",
                                                  RawText{nested(static_cast<std::size_t>(depth))});
    co_await child;
    co_return 1;
  }
  static Durable<int> saves(Flow& flow, int depth) {
    if (!flow.state<RawText>(RawText{}).text.empty()) co_return 1;
    co_await flow.checkpoint(RawText{nested(static_cast<std::size_t>(depth))});
    co_return 1;
  }
  static Durable<std::string> finds(Flow& flow) {
    const auto ask = [](const std::string&) { return std::optional<std::string>(found); };
    const RawText got = co_await flow.step(
        "pay", StepOptions().transactional(ask).retry(Retry(2, 1ms)), [&]() -> Task<RawText> {
          effects.push_back("paid");
          throw std::runtime_error("the answer was lost");
          co_return RawText{};
        });
    co_return got.text;
  }
  static inline Uuid promise_id;
  static inline std::string found;

  DoorTest() {
    world.types = [] {
      Registry types;
      types.add("echoes", 1, echoes);
      types.add("doubles", 1, doubles);
      types.add("hears", 1, hears);
      types.add("hopes", 1, hopes);
      types.add("gives", 1, gives);
      types.add("climbs", 1, climbs);
      types.add("spawns", 1, spawns);
      types.add("saves", 1, saves);
      types.add("finds", 1, finds);
      return types;
    };
  }
  // The host opens, and nothing in its log is wrong.
  void expect_sound(std::size_t resumed) {
    world.live([&](Host& host) -> Task<void> { co_await host.close(); });
    EXPECT_EQ(world.recovery.resumed, resumed) << world.recovery.text();
    EXPECT_EQ(world.recovery.quarantined, 0u) << world.recovery.text();
    EXPECT_TRUE(world.recovery.notes.empty()) << world.recovery.text();
  }
  // What a task failed with.
  static Task<std::string> failure_of(Host* host, Uuid id) {
    try {
      co_await host->result_json(id);
    } catch (const Error& e) {
      co_return e.what();
    }
    co_return "";
  }
};

}  // namespace door
}  // namespace tiffany
