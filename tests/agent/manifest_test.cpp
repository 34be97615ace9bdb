#include "tiffany/agent/manifest.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace manifest_test {

using Words = std::vector<std::string>;

const std::string kGrep = R"({
  "name": "grep", "about": "Finds lines.",
  "argv": ["grep", "-n", "--max-count={most}", "--", "{pattern}", "{path}"],
  "input": {"type": "object", "properties": {
      "pattern": {"type": "string"}, "path": {"type": "string"},
      "most": {"type": "integer", "minimum": 1}, "deep": {"type": "array"}},
    "required": ["pattern"], "additionalProperties": false},
  "effect": "pure", "limits": {"timeout_ms": 1e4, "memory_bytes": 1000000, "processes": null}})";

std::string mistakes_in(const std::string& json) {
  try {
    read_manifest(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_tool);
    return error.what();
  }
  return {};
}
std::string refused_words(const Manifest& manifest, const std::string& arguments) {
  try {
    words_for(manifest, arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_tool);
    return error.what();
  }
  return {};
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
// The manifest above with a piece of it replaced.
std::string grep_with(const std::string& old_text, const std::string& new_text) {
  std::string json = kGrep;
  const std::size_t at = json.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return json.replace(at, old_text.size(), new_text);
}

TEST(AgentManifest, IsReadFromJson) {
  const Manifest manifest = read_manifest(kGrep);
  EXPECT_EQ(manifest.name, "grep");
  EXPECT_EQ(manifest.effect, ToolEffect::pure);
  EXPECT_FALSE(manifest.ask);
  EXPECT_FALSE(manifest.network);
  EXPECT_EQ(manifest.sandbox, 2);
  EXPECT_EQ(manifest.limits.timeout_ms, 10'000);
  EXPECT_EQ(manifest.limits.kernel.memory_bytes, 1'000'000U);
  EXPECT_EQ(manifest.limits.kernel.processes, std::nullopt);
  EXPECT_TRUE(read_manifest(grep_with("\"pure\"", "\"at_most_once\"")).ask);
  EXPECT_FALSE(read_manifest(grep_with("\"pure\"", "\"at_most_once\",\"ask\":false")).ask);
}

TEST(AgentManifest, PlaceholdersAreOneWordWhateverTheArgumentHas) {
  const Manifest manifest = read_manifest(kGrep);
  EXPECT_EQ(words_for(manifest, R"({"pattern":"a b; rm -rf / $(x) `y` \"'\n*","path":"src"})"),
            (Words{"grep", "-n", "--", "a b; rm -rf / $(x) `y` \"'\n*", "src"}));
  EXPECT_EQ(words_for(manifest, R"({"pattern":"{path}","path":"{{","most":7})"),
            (Words{"grep", "-n", "--max-count=7", "--", "{path}", "{{"}));
  EXPECT_EQ(words_for(manifest, R"({"pattern":""})"), (Words{"grep", "-n", "--", ""}));
  const Manifest braces = read_manifest(grep_with("\"-n\"", "\"{{{pattern}}}-{most}x{path}\""));
  EXPECT_EQ(words_for(braces, R"({"pattern":"a","path":"b","most":1})").at(1), "{a}-1xb");
}

TEST(AgentManifest, AValueIsNotTakenForAnOption) {
  const Manifest safe = read_manifest(kGrep);
  EXPECT_EQ(words_for(safe, R"({"pattern":"--file=/etc/passwd"})").back(), "--file=/etc/passwd");
  const Manifest unsafe = read_manifest(grep_with("\"--\", ", ""));
  EXPECT_TRUE(has(refused_words(unsafe, R"({"pattern":"-f/etc/passwd"})"), "taken for an option"));
  EXPECT_TRUE(has(refused_words(unsafe, R"({"pattern":"","path":"-"})"), "taken for an option"));
  // The pieces of a word are looked at together.
  const Manifest joined =
      read_manifest(grep_with("\"--\", \"{pattern}\", \"{path}\"", "\"{pattern}{path}\""));
  EXPECT_TRUE(has(refused_words(joined, R"({"pattern":"","path":"-x"})"), "taken for an option"));
  EXPECT_EQ(words_for(joined, R"({"pattern":"a","path":"-x"})").back(), "a-x");
}

TEST(AgentManifest, ArgumentsThatDoNotFitAreSentencesForTheModel) {
  const Manifest manifest = read_manifest(kGrep);
  EXPECT_TRUE(has(refused_words(manifest, "{}"), "'pattern' is missing"));
  EXPECT_TRUE(has(refused_words(manifest, R"({"pattern":7,"x":1})"), "/x: no member"));
  EXPECT_TRUE(has(refused_words(manifest, R"({"pattern":"a\u0000b"})"), "zero byte"));
  EXPECT_TRUE(has(refused_words(manifest, "[]"), "an object is expected"));
  EXPECT_TRUE(has(refused_words(manifest, "{\"pattern\":\"" + std::string(140'000, 'a') + "\"}"),
                  "longer than 128 KiB"));
}

TEST(AgentManifest, EachMistakeIsASentence) {
  EXPECT_TRUE(has(mistakes_in("{}"), "the member 'argv' is missing"));
  EXPECT_TRUE(has(mistakes_in("nothing"), "JSON text"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"about\"", "\"abuot\"")), "/abuot: no member"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"name\": \"grep\"", "\"name\": \"a b\"")), "/name: "));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"harmless\"")), "/effect: it is none of"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"network\":true")), "is not pure"));
  EXPECT_TRUE(
      has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"writes\":[\".\"]")), "is not pure"));
  EXPECT_TRUE(
      has(mistakes_in(grep_with("1e4", "0")), "/limits/timeout_ms: the number is too small"));
  EXPECT_TRUE(has(mistakes_in(grep_with("1e4", "1,\"time\":1")), "/limits/time: no member"));
  EXPECT_TRUE(has(mistakes_in(grep_with("1e4", "null")), "/limits/timeout_ms: an integer"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"sandbox\":4")), "too large"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"reads\":[\"a/../b\"]")), "'..'"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"reads\":[\"\"]")), "is no path"));
  EXPECT_TRUE(
      has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"secrets\":[\"A=b\"]")), "variable"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"pure\"", "\"pure\",\"output\":{\"oneOf\":[]}")),
                  "/output: The schema has a mistake"));
  // And all of them at once.
  const std::string both = mistakes_in(grep_with("\"pure\"", "\"no\",\"sandbox\":9,\"x\":1"));
  EXPECT_TRUE(has(both, "/effect") && has(both, "/sandbox") && has(both, "/x")) << both;
}

TEST(AgentManifest, WordsThatCannotBeMadeAreMistakes) {
  for (const auto& [word, why] : std::vector<std::pair<std::string, std::string>>{
           {"{unheard}", "{unheard} is no property"},
           {"{deep}", "{deep} is no property of the input that is a string"},
           {"{pattern", "'{' that begins no placeholder"},
           {"pattern}", "'}' that ends no placeholder"},
           {"{}", "'{' that begins no placeholder"},
           {"a\\u0000", "zero byte"}}) {
    EXPECT_TRUE(has(mistakes_in(grep_with("\"-n\"", '"' + word + '"')), why))
        << mistakes_in(grep_with("\"-n\"", '"' + word + '"'));
  }
  EXPECT_TRUE(has(mistakes_in(grep_with("[\"grep\"", "[\"{path}\"")), "named by the manifest"));
  EXPECT_TRUE(has(mistakes_in(grep_with("[\"grep\"", "[\"\"")), "named by the manifest"));
  EXPECT_TRUE(has(mistakes_in(grep_with("\"type\": \"object\", \"prop", "\"prop")), "\"object\""));
}

TEST(AgentManifest, AnArgumentInsideOfAScriptOfAShellIsAMistake) {
  for (const char* shell : {"\"sh\", \"-c\"", "\"/bin/bash\", \"-lc\"", "\"bash\", \"-ec\""}) {
    EXPECT_TRUE(has(
        mistakes_in(grep_with("\"grep\", \"-n\"", std::string(shell) + ", \"cat {path} | wc\"")),
        "the shell would run"))
        << shell;
  }
  const Manifest fine =
      read_manifest(grep_with(R"("grep", "-n", "--max-count={most}", "--", "{pattern}")",
                              R"("sh", "-c", "grep \"$1\" \"$2\" | wc", "--", "{pattern}")"));
  EXPECT_EQ(words_for(fine, R"({"pattern":"; reboot","path":"a"})"),
            (Words{"sh", "-c", "grep \"$1\" \"$2\" | wc", "--", "; reboot", "a"}));
}

TEST(AgentManifest, ThePinIsThatOfTheCanonicalTextAndEachMemberCounts) {
  const Manifest manifest = read_manifest(kGrep);
  EXPECT_EQ(digest(manifest), sha256_hex(canonical_text(manifest)));
  const Manifest again = read_manifest(canonical_text(manifest));
  EXPECT_EQ(digest(again), digest(manifest));
  EXPECT_EQ(again.argv, manifest.argv);

  std::set<std::string> digests{digest(manifest)};
  const auto differs = [&](auto change) {
    Manifest other = manifest;
    other.effect = ToolEffect::idempotent;
    change(other);
    EXPECT_TRUE(digests.insert(digest(other)).second) << digests.size();
  };
  differs([](Manifest&) {});
  differs([](Manifest& m) { m.name = "other"; });
  differs([](Manifest& m) { m.about += "."; });
  differs([](Manifest& m) { m.argv.push_back("x"); });
  differs([](Manifest& m) { m.output = R"({"type":"string"})"; });
  differs([](Manifest& m) { m.reads = {"/srv"}; });
  differs([](Manifest& m) { m.writes = {"."}; });
  differs([](Manifest& m) { m.network = true; });
  differs([](Manifest& m) { m.limits.output_bytes = 2'048; });
  differs([](Manifest& m) { m.limits.kernel.open_files = 10; });
  differs([](Manifest& m) { m.secrets = {"TOKEN"}; });
  differs([](Manifest& m) { m.ask = true; });
  differs([](Manifest& m) { m.sandbox = 3; });
  // How it is written does not count.
  EXPECT_EQ(digest(read_manifest(grep_with("1e4", "10000"))), digest(manifest));
}

TEST(AgentManifest, FromCppItIsCheckedAsWell) {
  Manifest manifest;
  manifest.name = "list";
  manifest.about = "Lists.";
  manifest.argv = {"ls"};
  EXPECT_NO_THROW(check_manifest(manifest));
  manifest.argv = {"ls", "\xff"};
  EXPECT_THROW(digest(manifest), Error);
  manifest.argv = {};
  EXPECT_THROW(check_manifest(manifest), Error);
  manifest.argv = {"ls"};
  manifest.limits.timeout_ms = 0;
  EXPECT_THROW(check_manifest(manifest), Error);
  manifest.limits.timeout_ms = 1;
  manifest.input = "{\"type\":\"object\"},\"ask\":false,\"x\":{}";
  EXPECT_THROW(check_manifest(manifest), Error);
}

TEST(AgentManifest, BecomesACommandAndTheTraitsOfATool) {
  Manifest manifest = read_manifest(grep_with(
      "\"pure\"", R"("idempotent","reads":["/srv/data"],"writes":[".","out"],"network":true)"));
  const exec::CommandSpec command = command_for(manifest, R"({"pattern":"x"})", "/tmp/files");
  EXPECT_EQ(command.argv, (Words{"grep", "-n", "--", "x"}));
  EXPECT_EQ(command.directory, "/tmp/files");
  EXPECT_EQ(command.timeout_ms, 10'000);
  EXPECT_EQ(command.limits.memory_bytes, 1'000'000U);
  ASSERT_TRUE(command.sandbox);
  EXPECT_EQ(command.sandbox->level, 2);
  EXPECT_TRUE(command.sandbox->network);
  EXPECT_TRUE(command.sandbox->directory_writable);
  EXPECT_EQ(command.sandbox->read, Words{"/srv/data"});
  EXPECT_EQ(command.sandbox->write, Words{"out"});
  const ToolTraits traits = traits_of(manifest);
  EXPECT_TRUE(traits.ask && traits.reads_private && traits.untrusted && traits.writes_outside);
  EXPECT_EQ(traits.pin, digest(manifest));
  const ToolTraits pure = traits_of(read_manifest(kGrep));
  EXPECT_FALSE(pure.ask || pure.reads_private || pure.writes_outside);
  EXPECT_FALSE(
      command_for(read_manifest(kGrep), R"({"pattern":"x"})", "/x").sandbox->directory_writable);
  EXPECT_EQ(offer_of(manifest).name, "grep");
  EXPECT_TRUE(has(offer_of(manifest).schema, "\"additionalProperties\":false"));
}

TEST(AgentManifest, NoTextMakesItFail) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, "manifest");
    std::string text = kGrep;
    for (std::uint64_t i = 0; i <= random.below(3); ++i) {
      text[random.below(text.size())] = "{}[]\",:\\-0e\xff"[random.below(12)];
    }
    mistakes_in(text);
  }
}

}  // namespace manifest_test
}  // namespace tiffany::agent
