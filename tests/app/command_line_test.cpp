// The program `tiffany`, as an operator uses it.
#include "tiffany/app/command_line.hpp"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace command_line_test {

using namespace std::chrono_literals;

constexpr const char* kNasty = "\x1b[31m\x1b]0;title\x07 \x7f \xc2\x9b \xe2\x80\xae \n0 tasks\r\b";

class CommandLine : public DurableWorld {
 protected:
  CommandLine() {
    types_ = [] {
      Registry types;
      types.add("visit", 1, &CommandLine::visit);
      types.add(kNasty, 1, &CommandLine::nothing);
      return types;
    };
  }

  struct Said {
    std::string text;
    int status = 0;
  };
  Said tiffany(const std::string& arguments) {
    Said said;
    FILE* const pipe =
        popen((std::string(TIFFANY_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
    std::array<char, 4096> room;
    while (const std::size_t n = fread(room.data(), 1, room.size(), pipe))
      said.text.append(room.data(), n);
    said.status = WEXITSTATUS(pclose(pipe));
    return said;
  }
  std::string log() const { return directory_ + "/wal"; }

  static Durable<void> nothing(Flow&) { co_return; }
  static Durable<std::string> visit(Flow& flow, std::string who) {
    const std::string greeting = co_await flow.step("greet", [&] { return "hello " + who; });
    auto answer = co_await flow.promise<std::string>("answer");
    co_return greeting + ", " + co_await answer;
  }

  // A task that waits for its promise, in a log that nobody has open.
  Uuid one_that_waits() {
    Uuid id;
    live([&](Host& host) -> Task<void> {
      id = co_await host.start("visit", "ann");
      co_await sleep(1s);
      co_await host.close();
    });
    return id;
  }
};
TIFFANY_ON_EVERY_LAYOUT(CommandLine);

// Of no use but for this test: a key that everybody has.
class Reversed : public wal::PayloadCodec {
 public:
  Encoded encode(std::string_view json) const override {
    return {"k2", std::string(json.rbegin(), json.rend())};
  }
  std::optional<std::string> decode(std::string_view, std::string_view bytes) const override {
    return std::string(bytes.rbegin(), bytes.rend());
  }
};

TEST_P(CommandLine, EncodedValuesAreShownWithTheCodecOnly) {
  codec_ = std::make_shared<Reversed>();
  const std::string id = one_that_waits().text();
  Uuid ended;
  live([&](Host& host) -> Task<void> {
    ended = co_await host.start(kNasty);
    co_await host.result_json(ended);
    co_await host.close();
  });
  const std::string step = R"("step":"greet#1","result":)";
  for (const char* verb : {"task show ", "wal tail "}) {
    const bool one = std::string_view(verb) == "task show ";
    const Said shown = tiffany(verb + log() + (one ? " " + id : ""));
    EXPECT_NE(shown.text.find(step + "\"<encrypted, key k2, 11 bytes>\""), std::string::npos)
        << shown.text;
  }
  EXPECT_EQ(tiffany("wal verify " + log()).status, 0);
  const Said listed = tiffany("task list " + log());
  EXPECT_NE(listed.text.find("<encrypted, key k2, 4 bytes>"), std::string::npos) << listed.text;
  // What cannot be read cannot be added to.
  const Said refused = tiffany("task signal " + log() + " " + id + " x 1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.text.find("encoded with key \"k2\""), std::string::npos) << refused.text;

  const Registry types = types_();
  const auto with_codec = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(durable_main(static_cast<int>(words.size()), arguments.data(), types, codec_), 0);
    return testing::internal::GetCapturedStdout();
  };
  const std::string shown = with_codec({"task", "show", log(), id});
  EXPECT_NE(shown.find(step + R"("hello ann")"), std::string::npos) << shown;
  const std::string replayed = with_codec({"task", "replay", log(), id});
  EXPECT_NE(replayed.find("hello ann"), std::string::npos) << replayed;
}

TEST_P(CommandLine, D3_TasksAreListedAndTheirRecordsShown) {
  const std::string id = one_that_waits().text();
  const Said listed = tiffany("task list " + log());
  EXPECT_EQ(listed.status, 0);
  EXPECT_NE(listed.text.find(id + "  unfinished  visit 1"), std::string::npos) << listed.text;
  const Said shown = tiffany("task show " + log() + " " + id);
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.text.find(R"("type":"StepEnd")"), std::string::npos) << shown.text;
  EXPECT_NE(shown.text.find(R"("step":"greet#1","result":"hello ann")"), std::string::npos)
      << shown.text;
}

TEST_P(CommandLine, D3_APromiseKeptFromAShellIsThereWhenTheTaskComesBack) {
  const Uuid id = one_that_waits();
  const std::string promise = Uuid::derived(id, "promise " + id.text() + "/answer#1").text();
  Said said = tiffany("task complete " + log() + " " + promise + " '\"yes\"'");
  EXPECT_EQ(said.text, "done\n");
  said = tiffany("task complete " + log() + " " + promise + " '\"no\"'");
  EXPECT_EQ(said.text, "it was kept before; nothing has changed\ndone\n");
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "hello ann, yes");
  });
}

TEST_P(CommandLine, D3_ATaskIsPausedResumedAndKilledFromAShell) {
  const Uuid id = one_that_waits();
  EXPECT_EQ(tiffany("task pause " + log() + " " + id.text()).text, "done\n");
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
    co_await host.close();
  });
  EXPECT_EQ(tiffany("task resume " + log() + " " + id.text()).text, "done\n");
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::running);
    co_await host.close();
  });
  EXPECT_EQ(tiffany("task kill " + log() + " " + id.text() + " 'it is late'").text, "done\n");
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::cancelled);
    EXPECT_EQ(host.info(id)->detail, "it is late");
    co_await host.close();
  });
}

TEST_P(CommandLine, D1_AnExportedTaskIsAFileOfItsOwnThatIsReadAsOne) {
  const Uuid id = one_that_waits();
  const std::string to = directory_ + "/out";
  EXPECT_EQ(tiffany("wal export " + log() + " --to " + to).text, "1 tasks written to " + to + "\n");
  const auto index = wal::scan(*wal::system_disk(), to, wal::Layout::files);
  ASSERT_NE(index.find(id), nullptr);
  EXPECT_EQ(index.find(id)->records.size(), 3u);
  EXPECT_TRUE(index.damage.empty());
}

TEST_P(CommandLine, D4_VerifyNamesTheLineThatIsDamaged) {
  const Uuid id = one_that_waits();
  EXPECT_EQ(tiffany("wal verify " + log()).status, 0);
  const bool journal = GetParam() == wal::Layout::journal;
  const std::string path = log() + "/" + (journal ? "00000001.journal" : id.text() + ".wal");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  file.clear();
  file.seekp(static_cast<std::streamoff>(text.find("hello ann")));
  file << "jello";
  file.close();
  const Said said = tiffany("wal verify " + log());
  EXPECT_EQ(said.status, 12);
  EXPECT_NE(said.text.find(path + ", line " + (journal ? "3" : "2")), std::string::npos)
      << said.text;
  EXPECT_NE(said.text.find("task " + id.text() + " would be quarantined"), std::string::npos)
      << said.text;
}

// A task with a value that lies beside the log.
TEST_P(CommandLine, VerifyChecksEveryValueBesideTheLog) {
  live([&](Host& host) -> Task<void> {
    co_await host.start("visit", std::string(100'000, 'a'));
    co_await sleep(1s);
    co_await host.close();
  });
  EXPECT_EQ(tiffany("wal verify " + log()).status, 0);
  std::filesystem::path value;
  for (const auto& file : std::filesystem::directory_iterator(log() + "/values")) {
    value = file.path();
  }
  std::fstream(value, std::ios::in | std::ios::out | std::ios::binary) << "changed";
  Said said = tiffany("wal verify " + log());
  EXPECT_EQ(said.status, 12);
  EXPECT_NE(said.text.find("does not hold what its name says"), std::string::npos) << said.text;
  std::filesystem::remove_all(log() + "/values");
  said = tiffany("wal verify " + log());
  EXPECT_EQ(said.status, 12);
  EXPECT_NE(said.text.find("does not exist"), std::string::npos) << said.text;
}

TEST_P(CommandLine, VerifyOfADirectoryWithoutALogOrWithoutItsSegmentsFails) {
  one_that_waits();
  std::filesystem::create_directory(directory_ + "/empty");
  Said said = tiffany("wal verify " + directory_ + "/empty");
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.text.find("holds no log"), std::string::npos) << said.text;
  for (const auto& file : std::filesystem::directory_iterator(log())) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".journal") || name.ends_with(".wal")) std::filesystem::remove(file.path());
  }
  said = tiffany("wal verify " + log());
  // A journal has more than its segments, and is damaged; of files of tasks nothing is left.
  EXPECT_EQ(said.status, GetParam() == wal::Layout::journal ? 12 : 1) << said.text;
}

TEST_P(CommandLine, AnExportedTaskTakesItsValuesAlong) {
  const std::string name(100'000, 'a');
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("visit", name);
    co_await sleep(1s);
    co_await host.close();
  });
  const std::string to = directory_ + "/out";
  EXPECT_EQ(tiffany("wal export " + log() + " " + id.text() + " --to " + to).status, 0);
  std::filesystem::remove_all(log());
  EXPECT_EQ(tiffany("wal verify " + to).status, 0);
  EXPECT_NE(tiffany("wal export " + to + " --to " + to).status, 0) << "into itself";
  std::filesystem::rename(to, log());  // and goes on elsewhere
  if (GetParam() == wal::Layout::journal) return;
  const Uuid promise = Uuid::derived(id, "promise " + id.text() + "/answer#1");
  live([&](Host& host) -> Task<void> {
    co_await host.complete(promise, std::string("yes"));
    EXPECT_EQ(co_await host.result<std::string>(id), "hello " + name + ", yes");
  });
}

TEST_P(CommandLine, ALogIsCompactedFromAShell) {
  const Uuid id = one_that_waits();
  EXPECT_EQ(tiffany("task kill " + log() + " " + id.text()).text, "done\n");
  EXPECT_EQ(tiffany("wal compact " + log() + " --keep-bytes lots").status, 2);
  const Said said = tiffany("wal compact " + log());
  EXPECT_EQ(said.status, 0) << said.text;
  EXPECT_TRUE(std::filesystem::exists(log() + "/archive/" + id.text() + ".wal")) << said.text;
  EXPECT_EQ(tiffany("wal verify " + log()).status, 0);
  const std::string to = directory_ + "/out";
  EXPECT_EQ(tiffany("wal export " + log() + " " + id.text() + " --to " + to).status, 0);
}

TEST_P(CommandLine, D3_WhatIsNotUnderstoodIsRefusedWithASentence) {
  EXPECT_EQ(tiffany("task dance " + directory_ + " " + Uuid().text()).status, 2);
  EXPECT_EQ(tiffany("wal verify").text,
            "tiffany: a directory is missing. `tiffany help` says what there is.\n");
  EXPECT_EQ(tiffany("wal verify /nowhere").text, "tiffany: There is no directory /nowhere.\n");
  EXPECT_EQ(tiffany("task show " + directory_ + " 12").status, 2);
  EXPECT_EQ(tiffany("help").status, 0);
}

TEST_P(CommandLine, ACountThatIsNoNumberIsRefused) {
  one_that_waits();
  for (const char* const count : {"abc", "-5", "5x", "''", "0x10", "1.5", "99999999999999999999"}) {
    const Said said = tiffany("wal tail " + log() + " " + count);
    EXPECT_EQ(said.status, 2) << count;
    EXPECT_NE(said.text.find("number"), std::string::npos) << said.text;
  }
  EXPECT_EQ(tiffany("wal tail " + log() + " 0").text, "");
  EXPECT_EQ(tiffany("wal tail " + log() + " 1").status, 0);
}

TEST_P(CommandLine, RawJsonWithLineBreaksFromAShellIsWrittenCompact) {
  const Uuid id = one_that_waits();
  const std::string promise = Uuid::derived(id, "promise " + id.text() + "/answer#1").text();
  EXPECT_EQ(tiffany("task signal " + log() + " " + id.text() + " word '{ \"a\":\n[1,\n2] }'").text,
            "done\n");
  EXPECT_EQ(tiffany("task signal " + log() + " " + id.text() + " word '{\"a\":1,\"a\":2}'").status,
            1);
  EXPECT_EQ(tiffany("task complete " + log() + " " + promise + " '\n\"yes\"\n'").text, "done\n");
  EXPECT_EQ(tiffany("wal verify " + log()).status, 0);
  EXPECT_NE(tiffany("task show " + log() + " " + id.text()).text.find(R"("value":{"a":[1,2]})"),
            std::string::npos);
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "hello ann, yes");
  });
}

TEST_P(CommandLine, NothingThatIsPrintedMovesACursorOrForgesALine) {
  // Colours and titles, a control character of one byte, one of two, a mark that turns the text
  // around, and a line break.
  const std::string nasty = kNasty;
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("visit", nasty);
    co_await host.start(nasty);
    co_await sleep(1s);
    co_await host.kill(id, nasty);
    co_await host.close();
  });
  const std::string texts[] = {tiffany("task list " + log()).text,
                               tiffany("task show " + log() + " " + id.text()).text,
                               tiffany("wal tail " + log()).text,
                               tiffany("task show " + log() + " $'\\x1b[31m'").text,
                               tiffany("task inspect " + log() + " " + id.text()).text,
                               tiffany("upgrade --check " + log()).text};
  for (const std::string& text : texts) {
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x7f'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
    EXPECT_EQ(text.find('\r'), std::string::npos) << text;
    EXPECT_EQ(text.find('\b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
    EXPECT_EQ(text.find("\n0 tasks"), std::string::npos) << text;
  }
  // The records are JSON, and their values are the same.
  const std::size_t at = texts[1].find("\"error\":");
  ASSERT_NE(at, std::string::npos) << texts[1];
  JsonReader in(std::string_view(texts[1]).substr(at + 8));
  EXPECT_EQ(in.string(), nasty);
}

}  // namespace command_line_test
}  // namespace tiffany
