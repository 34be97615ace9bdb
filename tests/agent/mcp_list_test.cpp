// What a server of tools says of its tools, and what becomes of its results.
#include <gtest/gtest.h>

#include "agent/config_reader.hpp"
#include "agent/mcp_list.hpp"
#include "agent/mcp_reader.hpp"
#include "agent/mcp_world.hpp"
#include "tiffany/agent/schema.hpp"

namespace tiffany::agent {
namespace mcp_list_test {

using mcp_test::options_of;
using mcp_test::tool_json;

mcp::ToolList list_of(const std::string& tools, const McpOptions& options = options_of()) {
  mcp::ToolList list;
  list.add("[" + tools + "]", options);
  return list;
}
ToolOffer offered(const std::string& tool) {
  std::map<std::string, std::string> names;
  const mcp::ToolList list = list_of(tool);
  return mcp::offer_of(options_of(), *list.allowed(options_of()).at(0), names);
}

TEST(McpList, NamesAreThoseThatModelsTake) {
  EXPECT_EQ(offered(tool_json("admin.tools/list")).name, "peer__admin_tools_list");
  const std::string longest = offered(tool_json(std::string(128, 'a'))).name;
  EXPECT_EQ(longest.size(), 64U);
  EXPECT_NE(longest, offered(tool_json(std::string(127, 'a'))).name);
}

TEST(McpList, TwoToolsNeverHaveOneName) {
  const McpOptions options = options_of();
  const mcp::ToolList list = list_of(tool_json("a.b") + "," + tool_json("a_b"));
  std::map<std::string, std::string> names;
  for (const mcp::Definition* each : list.allowed(options)) {
    mcp::offer_of(options, *each, names);
  }
  EXPECT_EQ(names.size(), 2U);
  EXPECT_THROW(list_of(tool_json("a") + "," + tool_json("a")), Error);
}

TEST(McpList, A4_DescriptionsLoseWhatMovesACursorOrHidesText) {
  const std::string about =
      offered(tool_json("a", "one\x1b[2J\ntwo\u202Ethree\u200Bfour\xff")).about;
  EXPECT_EQ(about, "(Of the server peer, in its words:) one[2J\ntwothreefour\xef\xbf\xbd");
}

TEST(McpList, WhatIsBeyondTheBoundsIsLeftOutWithASentence) {
  const mcp::ToolList list =
      list_of(tool_json("good") + "," + tool_json("with space") + "," +
              tool_json(std::string(129, 'a')) + "," + tool_json("wordy", std::string(4097, 'x')) +
              "," + tool_json("deep", "", R"({"description":")" + std::string(33000, 'x') + "\"}") +
              R"(,{"name":"bare"},{"name":"listed","inputSchema":[]})"
              R"(,{"name":"twice","inputSchema":{"a":{"b":1,"b":2}}})");
  EXPECT_EQ(list.allowed(options_of()).size(), 1U);
  EXPECT_EQ(list.left_out().size(), 7U);
}

TEST(McpList, OnlyWhatIsAllowedIsOfferedAndCountsForTheDigest) {
  McpOptions options = options_of();
  options.allow = {"a"};
  const mcp::ToolList one = list_of(tool_json("a") + "," + tool_json("b"), options);
  const mcp::ToolList two = list_of(tool_json("a") + "," + tool_json("b", "new"), options);
  EXPECT_EQ(one.allowed(options).size(), 1U);
  EXPECT_EQ(one.digest(options), two.digest(options));
  EXPECT_NE(one.digest(options_of()), two.digest(options_of()));
}

TEST(McpList, AnotherOrderOfMembersIsNoOtherTool) {
  const std::string one = R"({"type":"object","properties":{"a":{"type":"string"}}})";
  const std::string two = R"({"properties": {"a":{ "type":"string"}}, "type":"object"})";
  EXPECT_EQ(list_of(tool_json("a", "x", one)).digest(options_of()),
            list_of(tool_json("a", "x", two)).digest(options_of()));
}

TEST(McpList, WhatIsKeptIsReadAgainAndIsOfThatServerOnly) {
  McpOptions options = options_of();
  const mcp::ToolList list = list_of(tool_json("a") + "," + tool_json("b", "\x01\n\"quoted\""));
  mcp::ToolList again;
  ASSERT_TRUE(again.read(list.text(options), options));
  EXPECT_EQ(again.digest(options), list.digest(options));
  options.command = {"peer", "--other"};
  EXPECT_FALSE(again.read(list.text(options_of()), options));
  for (const char* broken : {"", "{}", "null", "{\"server\":{\"command\":[\"peer\"]}}"}) {
    EXPECT_FALSE(again.read(broken, options_of())) << broken;
  }
}

TEST(McpList, A4_HintsOfTheServerLoosenNothing) {
  const mcp::ToolList list =
      list_of(R"({"name":"rm","inputSchema":{},)"
              R"("annotations":{"readOnlyHint":true,"idempotentHint":true}})");
  const ToolTraits traits = mcp::traits_of(options_of(), *list.find("rm"));
  EXPECT_TRUE(traits.ask && traits.untrusted && traits.reads_private && traits.writes_outside);
  EXPECT_EQ(traits.effect, StepEffect::at_most_once);
}

// ---- Schemas of others ----

TEST(McpList, OfASchemaThatIsNotUnderstoodTheRestIsChecked) {
  const Schema schema = Schema::read_known(
      R"({"type":"object","$defs":{"x":{}},"properties":{"a":{"type":"integer","multipleOf":2},)"
      R"("b":{"$ref":"#/$defs/x","type":"string"},"c":{"oneOf":[{"type":"string"}]}},)"
      R"("required":["a","z"],"additionalProperties":false})");
  EXPECT_EQ(schema.check(R"({"a":3,"b":7,"c":1})").size(), 1U);  // z is missing
  EXPECT_FALSE(schema.check(R"({"a":"x","z":1})").empty());
}

TEST(McpList, KeywordsThatChangeOthersTakeThemAway) {
  const Schema named = Schema::read_known(
      R"({"type":"object","patternProperties":{"^x":{}},"additionalProperties":false})");
  EXPECT_TRUE(named.check(R"({"x1":1})").empty());
  const Schema listed =
      Schema::read_known(R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})");
  EXPECT_TRUE(listed.check(R"(["a",1])").empty());
  for (const char* odd : {"", "[]", "true", R"({"type":"nothing"})", R"({"items":[{},{}]})",
                          R"({"minLength":1.5})", R"({"properties":{"a":true,"b":false}})"}) {
    EXPECT_TRUE(Schema::read_known(odd).check(R"({"a":1})").empty()) << odd;
  }
}

// ---- Results ----

std::string text_of(const std::string& json) { return mcp::read_call_result(json).text; }

TEST(McpResult, WhatIsNoTextIsASentence) {
  EXPECT_EQ(text_of(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})"),
            "a\nb");
  EXPECT_EQ(text_of(R"({"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]})"),
            "[a picture, image/png, 3 bytes: it is not shown]");
  EXPECT_EQ(text_of(R"({"content":[{"type":"resource","resource":{"uri":"a:b","text":"t"}}]})"),
            "[a:b]\nt");
  EXPECT_EQ(text_of(R"({"content":[{"type":"resource_link","uri":"a:b","name":"n"}]})"),
            "[a link to a:b, n]");
  EXPECT_EQ(text_of(R"({"content":[]})"), "(The tool answered without a text.)");
}

TEST(McpResult, StructuredContentIsSaidOnce) {
  EXPECT_EQ(text_of(R"({"content":[{"type":"text","text":"{ \"a\": 1 }"}],)"
                    R"("structuredContent":{"a":1}})"),
            "{ \"a\": 1 }");
  EXPECT_EQ(text_of(R"({"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}})"),
            "one\n{\"a\":1}");
}

TEST(McpResult, FailuresAndQuestionsAreFailures) {
  EXPECT_TRUE(mcp::read_call_result(R"({"content":[],"isError":true})").failed);
  EXPECT_TRUE(
      mcp::read_call_result(R"({"resultType":"input_required","inputRequests":{}})").failed);
  EXPECT_TRUE(mcp::read_call_result(R"({"resultType":"dance"})").failed);
  for (const char* broken : {"[]", "7", R"({"content":[7]})"}) {
    EXPECT_THROW(mcp::read_call_result(broken), Error) << broken;
  }
}

// ---- The file of the operator ----

std::string mistake_of(const std::string& json) {
  ConfigReader in("agents.json", json);
  try {
    in.whole([&] { read_mcp_entry(in, "/etc/x/"); });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(McpReader, EachMistakeIsNamedWithItsMember) {
  EXPECT_EQ(mistake_of(R"({"name":"a","command":["x"],"directory":"d","env":{"A":"1"},)"
                       R"("secrets":["S"],"tools":["t"],"pin":"p","idle_s":5,)"
                       R"("traits":{"t":{"effect":"idempotent","ask":false}}})"),
            "");
  EXPECT_NE(mistake_of(R"({"name":"a"})").find("\"command\" or a \"url\""), std::string::npos);
  EXPECT_NE(mistake_of(R"({"command":["x"]})").find("no \"name\""), std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","command":[]})").find("command must have"),
            std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","command":"x y"})").find("command must be a list"),
            std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","comand":["x"]})").find("\"comand\""), std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","command":["x"],"idle_s":0})").find("idle_s"),
            std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","url":"http://127.0.0.1/","env":{}, "directory":"x"})")
                .find("for a program"),
            std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","command":["x"],"key":{"env":"K"}})").find("for a service"),
            std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","url":"u","key":"secret"})").find("key"), std::string::npos);
  EXPECT_NE(mistake_of(R"({"name":"a","command":["x"],"traits":{"t":{"asks":false}}})")
                .find("traits.t has a member \"asks\""),
            std::string::npos);
}

TEST(McpReader, WhatCannotBeIsRefusedBeforeAnythingIsStarted) {
  const auto refused = [](const char* name, const char* url) {
    McpOptions options(name);
    options.url = url;
    EXPECT_THROW(McpServer server(options), Error) << name << " " << url;
  };
  refused("", "http://127.0.0.1:1/mcp");
  refused("a__b", "http://127.0.0.1:1/mcp");
  refused("a b", "http://127.0.0.1:1/mcp");
  refused("a", "http://example.org/mcp");
  refused("a", "http://127.0.0.1.example.org/mcp");
  refused("a", "http://localhost.example.org/mcp");
  refused("a", "ftp://127.0.0.1/mcp");
  refused("a", "http://user:pass@127.0.0.1/mcp");
  refused("a", "");
}

}  // namespace mcp_list_test
}  // namespace tiffany::agent
