// Skills: directories that are read once, pinned by what they hold.
#include "tiffany/agent/skill.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "agent/repository.hpp"
#include "tiffany/agent/file_tools.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::agent {
namespace skill_test {

using canvas_support::Scratch;
using canvas_support::Thrown;
using canvas_support::thrown_by;
using canvas_support::write_file;

constexpr const char* kFront = "---\nname: release\ndescription: How a release is made.\n---\n";
constexpr const char* kTag =
    R"({"name":"tag","about":"Tags.","argv":["true"],"input":{"type":"object"},"effect":"pure"})";

class SkillTest : public testing::Test {
 protected:
  SkillTest()
      : commands_(scratch_ / "commands", TIFFANY_RUN), workshop_(commands_, scratch_ / "work") {
    file("SKILL.md", std::string(kFront) + "Count the tests.\n");
  }
  std::string at() const { return scratch_ / "skill"; }
  void file(const std::string& name, const std::string& text) {
    write_file(at() + "/" + name, text);
  }
  // The sentence with which it is refused.
  std::string refused() {
    const Thrown thrown = thrown_by([&] { read_skill(at()); });
    EXPECT_EQ(thrown.code, Errc::bad_tool) << thrown.sentence;
    EXPECT_NE(thrown.sentence.find(at()), std::string::npos) << thrown.sentence;
    return thrown.sentence;
  }
  std::string refused_text(const std::string& text) {
    file("SKILL.md", text);
    return refused();
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  ToolAnswer call(const ToolSet& tools, const std::string& arguments) {
    Tool* const tool = tools.find("skill");
    EXPECT_EQ(tool->mistake_in(arguments), "");
    ToolAnswer answer;
    const auto program = [&]() -> Task<void> {
      answer = co_await tool->run(ToolContext(), arguments);
    };
    tiffany::run(program());
    return answer;
  }

  Scratch scratch_;
  exec::Commands commands_;
  Workshop workshop_;
};

TEST_F(SkillTest, IsReadWithItsFilesAndToolsAndTheModelReadsItByName) {
  file("checklist.md", "- [ ] count\n");
  file("tools/tag.json", kTag);
  const auto skills = std::make_shared<Skills>();
  skills->add(read_skill(at()));
  ToolSet tools;
  add_skill_tools(tools, skills, workshop_);
  EXPECT_EQ(tools.names(), "skill, tag");
  EXPECT_TRUE(has(skills->prompt(), "- release: How a release is made.\n"));
  EXPECT_EQ(call(tools, R"({"name":"release"})").text,
            "Count the tests.\n\n(other files of this skill: checklist.md)\n");
  EXPECT_EQ(call(tools, R"({"name":"release","file":"checklist.md"})").text, "- [ ] count\n");
  EXPECT_EQ(skills->used(skills->all().front()), 1U);
  EXPECT_TRUE(has(call(tools, R"({"name":"other"})").text, "There are: release"));
  for (const char* const outside : {"../skill/SKILL.md", "/etc/hostname", "tools/tag.json", ""}) {
    EXPECT_TRUE(call(tools, R"({"name":"release","file":")" + std::string(outside) + "\"}").failed)
        << outside;
  }
  EXPECT_FALSE(tools.find("skill")->traits().untrusted) << "the operator installed it";
  EXPECT_FALSE(tools.find("skill")->mistake_in(R"({"name":5})").empty());
}

TEST_F(SkillTest, AnyChangeOfAnyFileIsAnotherDigestAndOtherTools) {
  file("notes", "1");
  const Skill before = read_skill(at());
  EXPECT_EQ(read_skill(at()).digest, before.digest);
  EXPECT_EQ(read_skill(at(), before.digest).name, "release");
  const auto digest_of = [&] {
    const auto skills = std::make_shared<Skills>();
    skills->add(read_skill(at()));
    ToolSet tools;
    add_skill_tools(tools, skills, workshop_);
    return tools.digest();
  };
  const std::string tools_before = digest_of();
  file("notes", "2");
  EXPECT_NE(read_skill(at()).digest, before.digest);
  EXPECT_NE(digest_of(), tools_before);
  const Thrown moved = thrown_by([&] { read_skill(at(), before.digest); });
  EXPECT_EQ(moved.code, Errc::bad_tool);
  EXPECT_TRUE(moved.says("is not the one that is pinned")) << moved.sentence;
  EXPECT_TRUE(moved.says(read_skill(at()).digest)) << "what to pin: " << moved.sentence;
  file("notes", "1");
  std::filesystem::rename(at() + "/notes", at() + "/notes2");
  EXPECT_NE(read_skill(at()).digest, before.digest) << "names count";
}

TEST_F(SkillTest, FrontMatterIsWhatSkillsUseOfYaml) {
  file("SKILL.md",
       "---\r\n# a comment\r\nname: \"my-skill\"\r\nlicense: MIT\r\nmetadata:\r\n  a: b\r\n"
       "description: >-\r\n  How it\r\n  is made.\r\n---\r\nText\n");
  const Skill skill = read_skill(at());
  EXPECT_EQ(skill.name, "my-skill");
  EXPECT_EQ(skill.about, "How it is made.");
  EXPECT_EQ(skill.text, "Text\n");
}

TEST_F(SkillTest, WhatIsNoSkillIsRefusedWithTheReason) {
  EXPECT_TRUE(has(refused_text("just text\n"), "does not begin with a line \"---\""));
  EXPECT_TRUE(has(refused_text("---\nname: a\n"), "no second line \"---\""));
  EXPECT_TRUE(has(refused_text("---\nname a\n---\n"), "no \"name: value\""));
  EXPECT_TRUE(has(refused_text("---\nname: a\nname: b\n---\n"), "twice"));
  EXPECT_TRUE(has(refused_text("---\n  x\n---\n"), "indented"));
  EXPECT_TRUE(has(refused_text("---\ndescription: b\n---\n"), "needs a name"));
  EXPECT_TRUE(has(refused_text("---\nname: ../a\ndescription: b\n---\n"), "needs a name"));
  EXPECT_TRUE(has(refused_text("---\nname: a\n---\n"), "needs a description"));
  EXPECT_TRUE(has(refused_text("---\nname: a\ndescription: " + std::string(2000, 'x') + "\n---\n"),
                  "needs a description"));
  EXPECT_TRUE(has(refused_text(std::string(kFront) + "\xff"), "no text in UTF-8"));
  EXPECT_TRUE(has(refused_text(kFront + std::string(60'000, 'x')), "more than 48 KiB"));
  EXPECT_TRUE(has(refused_text(""), "does not begin"));
  std::filesystem::remove(at() + "/SKILL.md");
  EXPECT_TRUE(has(refused(), "has no file SKILL.md"));
  std::filesystem::remove_all(at());
  EXPECT_TRUE(has(refused(), "is no directory that can be read"));
}

TEST_F(SkillTest, LinksPipesHugeFilesAndTooManyAreRefused) {
  std::filesystem::create_symlink("SKILL.md", at() + "/link");
  EXPECT_TRUE(has(refused(), "has a symbolic link, link"));
  std::filesystem::remove(at() + "/link");
  std::filesystem::create_directory_symlink("/", at() + "/tools");
  EXPECT_TRUE(has(refused(), "has a symbolic link, tools"));
  std::filesystem::remove(at() + "/tools");
  ASSERT_EQ(mkfifo((at() + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(has(refused(), "is no file: pipe"));
  std::filesystem::remove(at() + "/pipe");
  file("huge", "");
  std::filesystem::resize_file(at() + "/huge", std::uintmax_t{1} << 40);
  EXPECT_TRUE(has(refused(), "too many bytes, in huge"));
  std::filesystem::remove(at() + "/huge");
  file("a\nb", "");
  EXPECT_TRUE(has(refused(), "no plain text"));
  std::filesystem::remove(at() + "/a\nb");
  file("1/2/3/4/5/6/7/8", "");
  EXPECT_TRUE(has(refused(), "too deep"));
  std::filesystem::remove_all(at() + "/1");
  for (int i = 0; i < 201; ++i) file("many/" + std::to_string(i), "");
  EXPECT_TRUE(has(refused(), "more than 200 files"));
}

TEST_F(SkillTest, NamesThatClashAndManifestsWithMistakesAreRefused) {
  file("tools/bad.json", "{}");
  EXPECT_TRUE(has(refused(), "mistake in tools/bad.json"));
  std::filesystem::remove(at() + "/tools/bad.json");
  Skills twice;
  twice.add(read_skill(at()));
  EXPECT_TRUE(thrown_by([&] { twice.add(read_skill(at())); }).says("which another skill has"));
  std::string read = kTag;
  read.replace(read.find("\"tag\""), 5, "\"read\"");
  file("tools/read.json", read);
  const auto skills = std::make_shared<Skills>();
  skills->add(read_skill(at()));
  ToolSet tools;
  add_file_tools(tools);
  const Thrown clash = thrown_by([&] { add_skill_tools(tools, skills, workshop_); });
  EXPECT_TRUE(clash.says("two tools with the name \"read\"")) << clash.sentence;
  ToolSet none;
  add_skill_tools(none, std::make_shared<Skills>(), workshop_);
  EXPECT_EQ(none.names(), "") << "no skills, no tool";
}

}  // namespace skill_test
}  // namespace tiffany::agent
