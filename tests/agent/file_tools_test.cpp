#include "tiffany/agent/file_tools.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace file_tools_test {

using namespace canvas_support;  // NOLINT(google-build-using-namespace)

class FileTools : public ::testing::Test {
 protected:
  FileTools() : canvas_(Canvas::open(repository_.path(), "main")) {}
  std::string run(const std::string& name, const std::string& arguments) {
    return run_file_tool(canvas_, name, arguments);
  }
  std::string refusal(const std::string& name, const std::string& arguments) {
    const Thrown thrown = thrown_by([&] { run(name, arguments); });
    EXPECT_EQ(thrown.code, Errc::bad_tool) << name << " " << arguments << thrown.sentence;
    return thrown.sentence;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  Repository repository_;
  Canvas canvas_;
};

TEST_F(FileTools, AreOfferedWithSchemasThatAreOnes) {
  std::string names;
  for (const ToolOffer& offer : file_tool_offers()) {
    names += offer.name + " ";
    EXPECT_FALSE(offer.about.empty());
    EXPECT_TRUE(Schema::read(offer.schema).only_objects()) << offer.schema;
  }
  EXPECT_EQ(names, "edit git_diff git_log git_status list read remove rename search write ");
  EXPECT_TRUE(file_tool_writes("edit"));
  EXPECT_FALSE(file_tool_writes("read"));
  EXPECT_FALSE(file_tool_writes("nothing"));
}

TEST_F(FileTools, ReadNumbersItsLinesAndGoesOn) {
  EXPECT_EQ(run("read", R"({"path":"README.md"})"), "     1\t# Shop\n");
  EXPECT_EQ(run("read", R"({"path":"./ten.txt","from":9,"lines":1})"),
            "     9\t9\n(lines 9 to 9 of 10; read on from line 10)\n");
  EXPECT_EQ(run("read", R"({"path":"ten.txt","from":10,"lines":null})"),
            "    10\t10\n(lines 10 to 10 of 10)\n");
  EXPECT_TRUE(has(refusal("read", R"({"path":"ten.txt","from":11})"), "has 10 lines"));
  EXPECT_TRUE(has(run("read", R"({"path":"logo.bin"})"), "binary file of 6 bytes"));
  canvas_.write("empty", "");
  EXPECT_EQ(run("read", R"({"path":"empty"})"), "empty is empty.");
  canvas_.write("no end", "a\r\nb");
  EXPECT_EQ(run("read", R"({"path":"no end"})"), "     1\ta\n     2\tb\n");
}

TEST_F(FileTools, AnswersAreBounded) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "a line of some length to fill the answer\n";
  canvas_.write("many", many);
  const std::string pieces = run("read", R"({"path":"many"})");
  EXPECT_LT(pieces.size(), 66'000U);
  EXPECT_TRUE(has(pieces, "of 20000; read on from line"));
  EXPECT_LT(run("search", R"({"text":"line"})").size(), 66'000U);
  EXPECT_TRUE(has(run("search", R"({"text":"line"})"), "(there are more:"));
  canvas_.write("wide", std::string(10'000, 'x') + "\u20ac");
  EXPECT_TRUE(has(run("read", R"({"path":"wide"})"), "... (8003 more bytes in this line)"));
  EXPECT_TRUE(has(run("search", R"({"text":"xx"})"), "more bytes in this line)"));
  for (int i = 0; i < 1'100; ++i) canvas_.write("d/" + std::to_string(i), "");
  EXPECT_TRUE(has(run("list", R"({"path":"d"})"), "(there are more:"));
}

TEST_F(FileTools, ListSaysWhatIsADirectoryALinkAndAProgram) {
  EXPECT_EQ(run("list", "{}"),
            ".gitignore\nREADME.md\nlink (symbolic link)\nlogo.bin\nrun.sh (executable)\nsrc/\n"
            "ten.txt\n");
  EXPECT_EQ(run("list", R"({"path":"src/"})"), "src/cart.cpp\n");
  EXPECT_EQ(run("list", R"({"path":".","pattern":"*.cpp"})"), "src/cart.cpp\n");
  EXPECT_EQ(run("list", R"({"pattern":"*.rs"})"), "There are no such files.");
}

TEST_F(FileTools, SearchFindsTextsAndRegularExpressions) {
  EXPECT_EQ(run("search", R"({"text":"total"})"),
            "src/cart.cpp:1: int total = 0;\nsrc/cart.cpp:3: int all = total;\n"
            "(1 files were not searched: binary, or too large)\n");
  EXPECT_TRUE(has(run("search", R"({"text":"TOTAL"})"), "Nothing was found."));
  EXPECT_TRUE(has(run("search", R"({"text":"TOTAL","ignore_case":true})"), "cart.cpp:3"));
  EXPECT_TRUE(has(run("search", R"({"text":"^int \\w+ = 0;$","regex":true})"), "cart.cpp:2"));
  EXPECT_FALSE(has(run("search", R"({"text":"^int \\w+ = 0;$","regex":true})"), "cart.cpp:3"));
  EXPECT_EQ(run("search", R"({"text":"i","pattern":"*.md"})"), "Nothing was found.\n");
  EXPECT_TRUE(has(run("search", R"({"text":"total","path":"src"})"), "cart.cpp:1"));
  EXPECT_TRUE(has(run("search", R"({"text":"*.o"})"), ".gitignore:1: *.o"));
  EXPECT_TRUE(has(refusal("search", R"({"text":"(a","regex":true})"), "'(' without ')'"));
  EXPECT_TRUE(has(refusal("search", R"({"text":"(a)\\1","regex":true})"), "not supported"));
  EXPECT_TRUE(has(refusal("search", R"({"text":"a\nb"})"), "line break"));
  EXPECT_TRUE(has(refusal("search", R"({"text":"a","path":"nowhere"})"), "no directory"));
}

TEST_F(FileTools, ChangesGoToTheCanvas) {
  EXPECT_EQ(run("edit", R"({"path":"src/cart.cpp","old_text":"count = 0","new_text":"count = 1"})"),
            "src/cart.cpp is changed: 1 line became 1.");
  EXPECT_EQ(run("write", R"({"path":"a/b.sh","text":"x\ny\n","executable":true})"),
            "a/b.sh is new: 2 lines.");
  EXPECT_EQ(run("write", R"({"path":"a/b.sh","text":""})"), "a/b.sh is overwritten: 0 lines.");
  EXPECT_TRUE(canvas_.read("a/b.sh").executable);
  EXPECT_EQ(run("remove", R"({"path":"logo.bin"})"), "logo.bin is removed.");
  EXPECT_EQ(canvas_.files().size(), 3U);
  EXPECT_TRUE(has(refusal("edit", R"({"path":"src/cart.cpp","old_text":"total","new_text":"x"})"),
                  "2 times"));
}

TEST_F(FileTools, WrongArgumentsAreASentenceForTheModel) {
  EXPECT_TRUE(has(refusal("read", "{}"), "the member 'path' is missing"));
  EXPECT_TRUE(has(refusal("read", R"({"path":7})"), "/path: a string is expected"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"a","lines":1.5})"),
                  "/lines: a null or an integer is expected"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"a","limit":5})"), "/limit: no member"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"a")"), "JSON text ends"));
  EXPECT_TRUE(has(refusal("read", ""), "JSON text ends"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"../../etc/passwd"})"), "'..'"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"/etc/passwd"})"), "is absolute"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"link"})"), "symbolic link"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"src"})"), "is a directory"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"."})"), "is empty"));
  EXPECT_TRUE(has(refusal("write", R"({"path":".git/config","text":""})"), ".git"));
  EXPECT_TRUE(has(refusal("write", R"({"path":"a","text":"\ud800"})"), "surrogate"));
  EXPECT_TRUE(has(refusal("read", R"({"path":"README.md","from":1.0})"), ""));
  EXPECT_TRUE(has(refusal("nothing", "{}"), "no file tool"));
}

TEST_F(FileTools, NoArgumentsMakeThemFail) {
  const std::vector<std::string> pieces = {"{",
                                           "}",
                                           "\"path\"",
                                           ":",
                                           ",",
                                           "\"text\"",
                                           "\"README.md\"",
                                           "\"..\"",
                                           "7",
                                           "-1",
                                           "null",
                                           "\"regex\"",
                                           "true",
                                           "\"(a*)*b\"",
                                           "[",
                                           "]",
                                           "\"old_text\"",
                                           "\"new_text\"",
                                           "\"#\"",
                                           "1e9"};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed, "tools");
    std::string arguments = "{";
    for (std::uint64_t i = 0; i < random.below(12); ++i) {
      arguments += pieces[random.below(pieces.size())];
    }
    arguments += "}";
    const std::vector<ToolOffer> offers = file_tool_offers();
    const Thrown thrown =
        thrown_by([&] { run(offers[random.below(offers.size())].name, arguments); });
    EXPECT_TRUE(thrown.sentence.empty() || thrown.code == Errc::bad_tool) << arguments;
  }
}

TEST_F(FileTools, GitStatusAndDiffSayWhatIsChangedAndOnlyThat) {
  EXPECT_EQ(run("git_status", "{}"), "base " + canvas_.base() + "\nNothing is changed.\n");
  EXPECT_EQ(run("git_diff", "{}"), "Nothing is changed.");
  canvas_.edit("src/cart.cpp", "int count = 0;\n", "");
  canvas_.write("docs/new.md", "one\ntwo\n");
  canvas_.write("logo.bin", std::string("\x00\x01", 2));
  canvas_.remove("ten.txt");
  EXPECT_EQ(run("git_status", "{}"), "base " + canvas_.base() +
                                         "\nadded docs/new.md +2 -0\nchanged logo.bin (binary)\n"
                                         "changed src/cart.cpp +0 -1\nremoved ten.txt +0 -10\n");
  const std::string one = run("git_diff", R"({"path":"./src/"})");
  EXPECT_TRUE(has(one, "-int count = 0;\n")) << one;
  EXPECT_FALSE(has(one, "new.md")) << one;
  EXPECT_TRUE(has(run("git_diff", R"({"path":"docs/new.md"})"), "+two\n"));
  EXPECT_TRUE(has(run("git_diff", R"({"path":null})"), "+two\n"));
  EXPECT_EQ(run("git_diff", R"({"path":"README.md"})"), "Nothing is changed in README.md.");
  EXPECT_EQ(run("git_diff", R"({"path":"*"})"), "Nothing is changed in *.") << "no pattern";
  refusal("git_diff", R"({"path":"../x"})");
  refusal("git_diff", R"({"path":".git/config"})");
  canvas_.write("wide", std::string(300'000, 'x') + "\n");
  EXPECT_LT(run("git_diff", "{}").size(), 66'000U);
}

TEST_F(FileTools, GitLogIsThatOfTheBaseBoundedAndOfAPath) {
  EXPECT_EQ(run("git_log", "{}"), canvas_.base().substr(0, 12) + " 2023-11-14 A: first\n");
  repository_.git("checkout -q -b side");
  const std::string side = repository_.commit_file("docs/a", "1");
  repository_.git("checkout -q main");
  write_file(repository_.path() + "/src/cart.cpp", "int total = 1;\n");
  repository_.git("commit -qam 'two lines\n\nand more' && git -C " + repository_.path() +
                  " merge -q --no-ff -m merged side");
  canvas_ = Canvas::open(repository_.path(), "main");
  const std::string all = run("git_log", R"({"count":200})");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4) << all;
  EXPECT_TRUE(has(run("git_log", R"({"count":1})"), "there are more"));
  EXPECT_EQ(run("git_log", R"({"path":"docs"})"), side.substr(0, 12) + " 2023-11-14 A: more\n")
      << "neither the merge nor what does not touch it";
  const std::string cart = run("git_log", R"({"path":"src/cart.cpp"})");
  EXPECT_TRUE(has(cart, "two lines") && has(cart, "first")) << cart;
  EXPECT_FALSE(has(cart, "and more")) << cart;
  EXPECT_EQ(run("git_log", R"({"path":"nowhere"})"), "There are no such commits.\n");
  refusal("git_log", R"({"count":0})");
  refusal("git_log", R"({"count":201})");
  refusal("git_log", R"({"path":"/etc"})");
}

TEST_F(FileTools, GitLogOfAShallowCloneEndsWhereItEndsAndOddMessagesAreOneLine) {
  repository_.commit_file("a", "1");
  repository_.git("commit -q --allow-empty --author='Mal\x1b <m@x>' -m $'red\\x1b[31m \\xff end'");
  shell("git clone -q --depth 2 file://" + repository_.path() + " " +
        repository_.beside("shallow"));
  canvas_ = Canvas::open(repository_.beside("shallow"), "main");
  const std::string log = run("git_log", "{}");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  EXPECT_FALSE(has(log, "\x1b")) << log;
  EXPECT_TRUE(has(run("git_log", R"({"path":"README.md"})"), "more")) << "before that nobody knows";
  const std::string empty = repository_.beside("empty");
  shell("git init -q " + empty);
  canvas_ = Canvas::open(empty, "");
  EXPECT_EQ(run("git_log", "{}"), "There are no such commits.\n");
  EXPECT_EQ(run("git_status", "{}"), "base none\nNothing is changed.\n");
}

Task<void> call_tools(const ToolSet* tools, ToolContext where, std::vector<ToolAnswer>* out) {
  Tool* const write = tools->find("write");
  out->push_back(co_await write->run(where, R"({"path":"new","text":"x"})"));
  where.canvas = out->back().canvas;
  Tool* const read = tools->find("read");
  out->push_back(co_await read->run(where, R"({"path":"new"})"));
  out->push_back(co_await read->run(where, R"({"path":"not there"})"));
  where.repository.clear();
  out->push_back(co_await read->run(where, R"({"path":"new"})"));
}

TEST_F(FileTools, AreToolsOfAnAgentThatKeepTheCanvas) {
  ToolSet tools;
  add_file_tools(tools);
  EXPECT_EQ(tools.names(),
            "edit, git_diff, git_log, git_status, list, read, remove, rename, search, write");
  EXPECT_EQ(tools.find("read")->mistake_in(R"({"path":"a"})"), "");
  EXPECT_TRUE(has(tools.find("read")->mistake_in("{}"), "'path' is missing"));
  ToolContext where;
  where.task = Uuid::parse("0192d1a0-0000-7000-8000-000000000001").value();
  where.repository = repository_.path();
  where.canvas = canvas_.keep(where.task.text());
  std::vector<ToolAnswer> answers;
  tiffany::run(call_tools(&tools, where, &answers));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].text, "new is new: 1 lines.");
  EXPECT_NE(answers[0].canvas.tree, where.canvas.tree);
  EXPECT_EQ(Canvas::kept(repository_.path(), where.task.text()), answers[0].canvas);
  EXPECT_EQ(answers[1].text, "     1\tx\n");
  EXPECT_EQ(answers[1].canvas, answers[0].canvas);
  EXPECT_TRUE(answers[2].failed);
  EXPECT_EQ(answers[2].text, "There is no file not there.");
  EXPECT_TRUE(answers[3].failed);
}

}  // namespace file_tools_test
}  // namespace tiffany::agent
