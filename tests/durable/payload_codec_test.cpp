// Values that pass a codec on their way into the log and out of it.
#include "tiffany/wal/payload_codec.hpp"

#include <gtest/gtest.h>

#include "tiffany/durable/inspect.hpp"
#ifdef TIFFANY_TLS

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "durable/memory_test.hpp"
#include "sealed/aes_gcm_codec.hpp"

namespace tiffany {
namespace payload_codec_test {

using namespace std::chrono_literals;
using Keys = std::map<std::string, std::string, std::less<>>;

const std::string kOne(32, '1');
const std::string kTwo(32, '2');

// One that can be told to fail, and to take clear text.
class TestCodec : public AesGcmCodec {
 public:
  TestCodec(Keys keys, std::string current) : AesGcmCodec(std::move(keys), std::move(current)) {}
  Encoded encode(std::string_view json) const override {
    if (!fails.empty() && json.find(fails) != std::string_view::npos) {
      throw std::runtime_error("the safe is closed.");
    }
    if (!bad_key.empty()) return {bad_key, "x"};
    return AesGcmCodec::encode(json);
  }
  bool accepts_clear() const noexcept override { return clear; }
  std::string fails;
  std::string bad_key;
  bool clear = false;
};

std::shared_ptr<TestCodec> with_keys(Keys keys, std::string current) {
  return std::make_shared<TestCodec>(std::move(keys), std::move(current));
}
std::shared_ptr<TestCodec> first_key() { return with_keys({{"k1", kOne}}, "k1"); }

class PayloadCodecTest : public MemoryTest {
 protected:
  PayloadCodecTest() { world.codec = first_key(); }
  std::string all_lines(const Uuid& id) const {
    std::string all;
    for (const std::string& line : world.lines(id)) all += line;
    return all;
  }
};
TIFFANY_IN_EVERY_STORE(PayloadCodecTest);

const Uuid kTask = Uuid::derived(Uuid(), "secret task");

std::string whisper(std::string text) { return text; }
Task<std::string> beat(Attempt& attempt) {
  attempt.heartbeat("secret pulse");
  co_await sleep(1h);
  co_return "secret beat";
}
Durable<std::string> secret_child(Flow& flow, std::string text) {
  co_await flow.sleep(1h);
  co_return text + " child";
}
// Every way by which a value comes into a log.
Durable<std::string> secret_task(Flow& flow, std::string text) {
  const std::string state = flow.state(std::string());
  if (state.empty()) {
    std::string all = co_await flow.step("say", [&] { return text + " said"; });
    auto behind = co_await flow.begin_step("whisper", whisper, text + " whispered");
    all += co_await behind;
    all += co_await flow.step("beat", beat);
    auto promise = co_await flow.promise<std::string>("promise");
    all += co_await promise;
    all += co_await flow.signal<std::string>("first");
    auto child = co_await flow.spawn<std::string>("child", text);
    all += co_await child;
    co_await flow.step("long", [&] { return text + std::string(70'000, 'l'); });
    co_await flow.checkpoint(all);
  }
  co_return state + co_await flow.signal<std::string>("second");
}
Registry secret_types() {
  Registry types;
  types.add("task", 1, secret_task);
  types.add("child", 1, secret_child);
  return types;
}
Uuid promise_of(const Uuid& task) {
  return Uuid::derived(task, "promise " + task.text() + "/promise#1");
}
Task<void> tell_all(Host& host) {
  co_await host.start_as(kTask, "task", "secret");
  if (host.info(kTask)->status == DurableStatus::completed) co_return;
  // Whatever was done in the life before: the task may have ended meanwhile.
  try {
    co_await host.signal(kTask, "second", std::string("secret second"));
    co_await host.signal(kTask, "first", std::string("secret first"));
    co_await sleep(2h);
    co_await host.complete(promise_of(kTask), std::string("secret kept"));
  } catch (const Error& e) {
    EXPECT_NE(e.code(), Errc::value_not_decoded) << e.what();
  }
  co_await host.result_json(kTask);
}
const std::string kWhole =
    "\"secret saidsecret whisperedsecret beatsecret keptsecret firstsecret childsecret second\"";

TEST_P(PayloadCodecTest, NoValueIsInClearTextAndEachComesBack) {
  world.types = secret_types;
  std::string result;
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "task", "secret");
    co_await sleep(90min);
    EXPECT_NE(all_lines(kTask).find("whisper"), std::string::npos);
    co_await tell_all(host);
    result = co_await host.result_json(kTask);
  });
  EXPECT_EQ(result, kWhole);
  EXPECT_EQ(all_lines(kTask).find("secret"), std::string::npos) << all_lines(kTask);
  EXPECT_NE(all_lines(kTask).find(R"({"$encoded":"k1","data":")"), std::string::npos);
  if (GetParam().database) return;
  world.disk->edit_each([](const std::string& path, std::string& bytes) {
    EXPECT_EQ(bytes.find("secret"), std::string::npos) << path;
  });
}

TEST_P(PayloadCodecTest, EncodedTasksGoOnWhereverTheProcessIsCutOff) {
  world.types = secret_types;
  std::string result;
  world.crash_everywhere([&] { result.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await tell_all(host);
                           result = co_await host.result_json(kTask);
                         },
                         [&] {
                           // Signals that were sent twice, in two lives, are two signals.
                           EXPECT_EQ(result, kWhole) << world.crashed_after;
                           EXPECT_EQ(all_lines(kTask).find("secret"), std::string::npos);
                         });
}

Durable<std::string> two_days(Flow& flow, std::string text) {
  std::string all = co_await flow.step("one", [&] { return text + " one"; });
  co_await flow.sleep(24h);
  all += co_await flow.step("two", [&] { return text + " two"; });
  co_return all;
}

TEST_P(PayloadCodecTest, TheKeyIsChangedOverARestart) {
  only("days", two_days);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "days", "secret");
    co_await sleep(1h);
  });
  world.codec = with_keys({{"k1", kOne}, {"k2", kTwo}}, "k2");
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(kTask), "secret onesecret two");
  });
  const std::string lines = all_lines(kTask);
  EXPECT_NE(lines.find(R"("args":{"$encoded":"k1")"), std::string::npos) << lines;
  EXPECT_NE(lines.find(R"("step":"two#1","result":{"$encoded":"k2")"), std::string::npos) << lines;
  // The old key may go when no value of it is needed any more: the result is of the new one.
  world.codec = with_keys({{"k2", kTwo}}, "k2");
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(kTask), "secret onesecret two");
  });
}

TEST_P(PayloadCodecTest, ATaskWhoseKeyIsMissingIsQuarantinedAndGoesOnWhenItIsThere) {
  only("days", two_days);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "days", "secret");
    co_await sleep(1h);
  });
  const std::string before = all_lines(kTask);
  const auto refused = [&](std::shared_ptr<TestCodec> codec, const std::string& why) {
    world.codec = std::move(codec);
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(host.info(kTask)->status, DurableStatus::quarantined);
      const std::string said = host.info(kTask)->detail;
      const std::string record = "record 1 (Spawn) of task " + kTask.text();
      EXPECT_NE(said.find(record), std::string::npos) << said;
      EXPECT_NE(said.find(why), std::string::npos) << said;
      EXPECT_EQ(co_await error_of(host.signal(kTask, "x", 1)), Errc::durable_stopped);
    });
    EXPECT_EQ(all_lines(kTask), before);
  };
  refused(with_keys({{"k2", kTwo}}, "k2"),
          "with key \"k1\" (38 bytes), which the codec of this program does not know");
  refused(with_keys({{"k1", kTwo}}, "k1"),
          "cannot decode it: it was changed, or the key is another");
  refused(nullptr, "with key \"k1\" (38 bytes), and this program was given no codec");
  world.codec = first_key();
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(kTask), "secret onesecret two");
  });
}

TEST_P(PayloadCodecTest, ClearTextIsRefusedUnlessTheCodecTakesIt) {
  only("days", two_days);
  world.codec = nullptr;
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "days", "secret");
    co_await sleep(1h);
  });
  world.codec = first_key();
  world.live([&](Host& host) -> Task<void> {
    const std::string said = host.info(kTask)->detail;
    EXPECT_NE(said.find("record 1 (Spawn) of task " + kTask.text()), std::string::npos) << said;
    EXPECT_NE(said.find("It has no key: it is in clear text"), std::string::npos) << said;
    co_return;
  });
  const auto lenient = first_key();
  lenient->clear = true;
  world.codec = lenient;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(kTask), "secret onesecret two");
  });
  EXPECT_NE(all_lines(kTask).find(R"("step":"one#1","hash")"), 0U);
  EXPECT_NE(all_lines(kTask).find(R"("step":"two#1","result":{"$encoded":"k1")"),
            std::string::npos);
  // With an empty key a value is in clear text, too: base64 hides nothing.
  const std::string no_key = R"({"$encoded":"","data":"ImZvcmdlZCI="})";
  EXPECT_EQ(wal::decoded_value(nullptr, no_key), "\"forged\"");
  EXPECT_EQ(wal::decoded_value(lenient.get(), no_key), "\"forged\"");
  try {
    ADD_FAILURE() << wal::decoded_value(first_key().get(), no_key);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::value_not_decoded);
    EXPECT_NE(std::string(e.what()).find("accepts_clear"), std::string::npos) << e.what();
  }
}

TEST_P(PayloadCodecTest, AResultThatCannotBeReadIsSaidAndTheTaskHasStillEnded) {
  only("days", two_days);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "days", "secret");
    co_await host.result_json(kTask);
  });
  world.codec = nullptr;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(kTask)->status, DurableStatus::completed);
    EXPECT_EQ(host.info(kTask)->detail, R"("<encrypted, key k1, 50 bytes>")");
    EXPECT_EQ(host.tasks().front().detail, R"("<encrypted, key k1, 50 bytes>")");
    std::string said;
    try {
      co_await host.result_json(kTask);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::value_not_decoded);
      said = e.what();
    }
    EXPECT_NE(said.find("(TaskExit) of task " + kTask.text()), std::string::npos) << said;
  });
}

TEST_P(PayloadCodecTest, TheSameStartIsTheSameAlsoWhenItsArgumentsAreEncoded) {
  only("days", two_days);
  const std::string text(70'000, 's');
  for (int life = 0; life < 2; ++life) {
    world.live([&](Host& host) -> Task<void> {
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(co_await host.start_as(kTask, "days", text), kTask);
        EXPECT_EQ(co_await error_of(host.start_as(kTask, "days", text + "s")),
                  Errc::start_conflict);
        EXPECT_EQ(co_await error_of(host.start_as(kTask, "days", "s")), Errc::start_conflict);
      }
    });
  }
}

Durable<std::string> takes(Flow& flow) {
  std::string all;
  try {
    all = co_await flow.step("bad", [] { return std::string("poison"); });
  } catch (const StepFailed& e) {
    all = e.what();
  }
  auto promise = co_await flow.promise<std::string>("promise");
  all += co_await promise;
  all += co_await flow.signal<std::string>("word");
  co_return all;
}
Durable<std::string> ends_badly(Flow&) { co_return "poison"; }
Durable<std::string> has_poisoned_child(Flow& flow) {
  auto child = co_await flow.spawn<std::string>("days", "poison");
  try {
    co_return co_await child;
  } catch (const Error& e) {
    co_return e.what();
  }
}

TEST_P(PayloadCodecTest, AValueThatCannotBeEncodedIsRefusedAndNothingIsRecorded) {
  world.types = [] {
    Registry types;
    types.add("days", 1, two_days);
    types.add("takes", 1, takes);
    types.add("ends", 1, ends_badly);
    types.add("parent", 1, has_poisoned_child);
    return types;
  };
  const auto codec = first_key();
  codec->fails = "poison";
  world.codec = codec;
  const std::string why = "The codec cannot encode a value of 8 bytes: the safe is closed.";
  Uuid ends;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start_as(kTask, "days", "poison")), Errc::value_not_encoded);
    EXPECT_FALSE(host.info(kTask).has_value());
    EXPECT_EQ(co_await host.start_as(kTask, "takes"), kTask);  // the id is free
    co_await sleep(1h);
    EXPECT_EQ(co_await error_of(host.signal(kTask, "word", std::string("poison"))),
              Errc::value_not_encoded);
    EXPECT_EQ(co_await error_of(host.complete(promise_of(kTask), std::string("poison"))),
              Errc::value_not_encoded);
    EXPECT_TRUE(co_await host.complete(promise_of(kTask), std::string(" kept")));
    co_await host.signal(kTask, "word", std::string(" heard"));
    EXPECT_EQ(co_await host.result<std::string>(kTask), why + " kept heard");
    ends = co_await host.start("ends");
    EXPECT_EQ(co_await error_of(host.result_json(ends)), Errc::value_not_encoded);
    const Uuid parent = co_await host.start("parent");
    const std::string said = co_await host.result<std::string>(parent);
    EXPECT_NE(said.find("the safe is closed."), std::string::npos) << said;
    codec->bad_key = "a key";
    EXPECT_EQ(co_await error_of(host.start("days", "x")), Errc::value_not_encoded);
  });
  world.codec = first_key();
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(ends), "poison");
  });
}

constexpr UpdateName<int, std::string> kSay{"say"};
Durable<std::string> answers(Flow& flow) {
  std::string all;
  const auto says = flow.on_update(kSay, [&](int number) {
    all += std::to_string(number);
    return number == 1 ? std::string("poison") : all;
  });
  co_await flow.sleep(100h);
  co_return all;
}

TEST_P(PayloadCodecTest, AnAnswerThatCannotBeEncodedIsAFailedAnswerInEveryLife) {
  only("answers", answers);
  const auto codec = first_key();
  codec->fails = "poison";
  world.codec = codec;
  const Uuid first = Uuid::derived(Uuid(), "first");
  for (int life = 0; life < 3; ++life) {
    if (life == 2)
      world.codec = first_key();  // which could encode the answer, but has come too late
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kTask, "answers");
      try {
        ADD_FAILURE() << co_await host.update(kTask, kSay, 1, first) << " in life " << life;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::durable_failed);
        EXPECT_NE(std::string(e.what()).find("the safe is closed."), std::string::npos) << e.what();
      }
      EXPECT_EQ(host.info(kTask)->status, DurableStatus::running) << host.info(kTask)->detail;
      const std::string all = co_await host.update(kTask, kSay, life + 2);
      EXPECT_EQ(all, std::string("1234").substr(0, static_cast<std::size_t>(life) + 2));
    });
  }
}

TEST_P(PayloadCodecTest, InspectionShowsValuesWithTheCodecAndSaysWhyNotWithoutIt) {
  only("days", two_days);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "days", "secret");
    co_await sleep(1h);
  });
  const Registry types = world.types();
  Scheduler scheduler(Options().virtual_time());
  const auto look = [&] {
    const auto seen =
        scheduler.spawn([](const Registry* all,
                           wal::LogOptions log) { return inspect(*all, std::move(log), kTask); },
                        &types, world.log_options());
    scheduler.run();
    return outcome_of(seen, false).value();
  };
  const Inspection with = look();
  EXPECT_TRUE(with.agrees) << with.difference;
  EXPECT_NE(with.events.at(0).find("secret one"), std::string::npos) << with.events.at(0);
  world.codec = nullptr;
  const Inspection without = look();
  EXPECT_FALSE(without.agrees);
  EXPECT_NE(without.difference.find("key \"k1\""), std::string::npos) << without.difference;
}

TEST_P(PayloadCodecTest, AHostWithoutTheCodecPutsNoClearTextBesideEncodedValues) {
  only("takes", takes);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "takes");
    co_await sleep(1h);
    co_await host.close();
  });
  const std::string before = all_lines(kTask);
  world.codec = nullptr;
  world.host_options.start_paused = true;
  world.host_options.records_only = true;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.signal(kTask, "word", std::string("clear"))),
              Errc::value_not_decoded);
    EXPECT_EQ(co_await error_of(host.complete(promise_of(kTask), std::string("clear"))),
              Errc::value_not_decoded);
    co_await host.close();
  });
  EXPECT_EQ(all_lines(kTask), before);
}

Durable<std::string> echoes(Flow& flow, std::map<std::string, std::string> value) {
  const auto same = co_await flow.step("same", [&] { return value; });
  co_return to_json(same);
}

TEST_P(PayloadCodecTest, AValueThatLooksLikeAnEncodedOneIsItself) {
  only("echo", echoes);
  world.codec = nullptr;
  const std::string marked = R"({"$encoded":"k1","data":"AAAA"})";
  for (int life = 0; life < 2; ++life) {
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_json("echo", "[" + marked + "]", kTask);
      EXPECT_EQ(co_await host.result<std::string>(kTask), marked);
    });
  }
}

TEST(PayloadCodecText, AChangedBitOfAnEncodedValueIsFound) {
  const auto codec = first_key();
  const std::string text = wal::encoded_value(codec.get(), "[1,2,3]");
  EXPECT_EQ(wal::decoded_value(codec.get(), text), "[1,2,3]");
  for (std::size_t i = text.find("data") + 7; i < text.size() - 2; ++i) {
    std::string other = text;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_THROW(wal::decoded_value(codec.get(), other), Error) << i;
  }
}

TEST(PayloadCodecText, ALineIsShownWithValuesOrWithWhatIsKnownOfThem) {
  const auto codec = first_key();
  const std::string secret = wal::encoded_value(codec.get(), "[1]");
  const std::string line = R"("a":)" + secret + R"(,"b":"{\"$encoded\":\"k1\"","c":)" + secret;
  EXPECT_EQ(wal::decoded_line(codec.get(), line), R"("a":[1],"b":"{\"$encoded\":\"k1\"","c":[1])");
  EXPECT_EQ(wal::decoded_line(nullptr, line),
            R"("a":"<encrypted, key k1, 31 bytes>","b":"{\"$encoded\":\"k1\"",)"
            R"("c":"<encrypted, key k1, 31 bytes>")");
  EXPECT_EQ(wal::decoded_line(nullptr, R"("a":{"$encoded":"k1"})"), R"("a":{"$encoded":"k1"})");
}

}  // namespace payload_codec_test
}  // namespace tiffany
#endif
