#include "tiffany/agent/message.hpp"

#include <gtest/gtest.h>

#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace message_test {
namespace {

TEST(AgentMessage, ReadsBackAsItWasWritten) {
  Message said = Message::assistant("I look.", {{"c1", "read", R"({"path":"a\nb"})"}});
  said.tainted = true;
  EXPECT_EQ(from_json<Message>(to_json(said)), said);
  EXPECT_EQ(to_json(Message::user("hi")),
            R"({"role":"user","text":"hi","calls":[],"call_id":"","tainted":false})");
}

TEST(AgentMessage, WhatAToolSaysIsTainted) {
  EXPECT_TRUE(Message::tool("c1", "anything").tainted);
  EXPECT_FALSE(Message::user("do it").tainted);
}

TEST(AgentMessage, ARoleThatNobodyKnowsIsAnError) {
  EXPECT_THROW(
      from_json<Message>(R"({"role":"root","text":"","calls":[],"call_id":"","tainted":false})"),
      Error);
}

}  // namespace
}  // namespace message_test
}  // namespace tiffany::agent
