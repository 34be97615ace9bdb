// Embeddings of an endpoint: what is asked, what is taken, and what becomes of everything else.
#include "tiffany/agent/embedder.hpp"

#include <cmath>
#include <cstdlib>

#include "model_world.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace embedder_test {

using namespace model_test;
using Texts = std::vector<std::string>;

class Embedded {
 public:
  Embedded() = default;
  std::vector<TextVector> vectors{};
  std::string kind = "vectors";  // or the name of an error, "again", "never"
  std::string sentence{};
};
// Not a list in braces, which GCC 12 does not take in a co_await.
template <class... T>
Texts texts_of(const T&... each) {
  Texts all;
  (all.emplace_back(each), ...);
  return all;
}
Task<Embedded> embedded(Embedder* embedder, Texts texts) {
  Embedded result;
  try {
    result.vectors = co_await embedder->embed(std::move(texts));
  } catch (const RetryAfter& error) {
    result.kind = "again";
    result.sentence = error.what();
  } catch (const NotRetryable& error) {
    result.kind = "never";
    result.sentence = error.what();
  } catch (const Error& error) {
    result.kind = name_of(error.code());
    result.sentence = error.what();
  }
  co_return result;
}

// What a raw answer to two texts comes to.
Embedded answer_means(const std::string& answer, std::size_t dimensions = 0,
                      std::uint64_t seed = 1) {
  RawServer raw;
  raw.answer = answer;
  Embedded result;
  const Client client = [&](std::string url) -> Task<void> {
    EmbedderOptions options;
    options.dimensions = dimensions;
    HttpEmbedder embedder(Endpoint(url, "m"), options);
    result = co_await embedded(&embedder, texts_of("one", "two"));
  };
  with_raw(raw, client, seed);
  return result;
}
std::string json_of(std::string_view body) {
  return answer_of(200, "content-type: application/json\r\n", body);
}
Embedded data_means(const std::string& data, std::size_t dimensions = 0) {
  return answer_means(json_of(R"({"object":"list","data":)" + data + "}"), dimensions);
}

double cosine(const TextVector& a, const TextVector& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

TEST(Embedder, TextsWithTheSameWordsAreNearToOneAnother) {
  std::vector<TextVector> before;
  const Client client = [&](std::string url) -> Task<void> {
    HttpEmbedder embedder(Endpoint(url, "words"));
    EXPECT_EQ(embedder.name(), "words");
    const Embedded result = co_await embedded(
        &embedder,
        texts_of("The tests need a display.", "a DISPLAY for the tests", "Water is wet."));
    EXPECT_EQ(result.kind, "vectors") << result.sentence;
    if (result.vectors.size() != 3) co_return;
    EXPECT_EQ(result.vectors[0].size(), 256u);
    EXPECT_GT(cosine(result.vectors[0], result.vectors[1]), 0.6);
    EXPECT_LT(cosine(result.vectors[0], result.vectors[2]), 0.3);
    EXPECT_TRUE(before.empty() || before == result.vectors) << "the same in every world";
    before = result.vectors;
  };
  with_script(R"({"embeddings":[]})", client);
}

TEST(Embedder, AQuestionHasTheModelTheTextsAndTheKeyAndNoSecret) {
  setenv("TIFFANY_TEST_EMBEDDINGS_KEY", "sk-sesame-open", 1);
  RawServer raw;
  raw.answer = json_of(R"({"data":[{"embedding":[1,2]}]})");
  Scrubber secrets;
  secrets.add("hunter22");
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    endpoint.key = KeySource::environment("TIFFANY_TEST_EMBEDDINGS_KEY");
    EmbedderOptions options;
    options.dimensions = 2;
    options.secrets = &secrets;
    HttpEmbedder embedder(endpoint, options);
    const Embedded result = co_await embedded(&embedder, texts_of("it is hunter22 \xC3\xA4"));
    EXPECT_EQ(result.kind, "vectors") << result.sentence;
    EXPECT_EQ(result.vectors, (std::vector<TextVector>{{64, 127}}));
  };
  with_raw(raw, client);
  ASSERT_EQ(raw.requests.size(), 1u);
  const std::string& asked = raw.requests[0];
  EXPECT_TRUE(asked.starts_with("POST /v1/embeddings HTTP/1.1\r\n")) << asked;
  EXPECT_NE(asked.find("authorization: Bearer sk-sesame-open\r\n"), std::string::npos) << asked;
  EXPECT_TRUE(asked.ends_with(R"({"model":"m","input":["it is *** ä"],"encoding_format":"float",)"
                              R"("dimensions":2})"))
      << asked;
}

TEST(Embedder, VectorsBelongToTheirTextsWhateverTheirOrder) {
  const Embedded result =
      data_means(R"([{"index":1,"embedding":[0,5]},{"index":0,"embedding":[-5,0]}])");
  EXPECT_EQ(result.vectors, (std::vector<TextVector>{{-127, 0}, {0, 127}})) << result.sentence;
}

TEST(Embedder, WhatIsNotOneVectorForEachTextIsRefusedWithASentence) {
  struct Case {
    const char* data;
    const char* part;
  };
  for (const Case& each : {
           Case{R"([{"embedding":[1,2]}])", "1 vectors for 2 texts"},
           Case{"[]", "0 vectors for 2 texts"},
           Case{"null", "0 vectors for 2 texts"},
           Case{R"([{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}])", "not asked for"},
           Case{R"([{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}])", "two for one"},
           Case{R"([{"index":7,"embedding":[1]},{"index":0,"embedding":[1]}])", "not asked for"},
           Case{R"([{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}])", "not asked for"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1]}])", "of 2 and of 1 numbers"},
           Case{R"([{"embedding":[1,2]},{"embedding":[0,0]}])", "without a direction"},
           Case{R"([{"embedding":[1,2]},{"embedding":[]}])", "without a direction"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1,null]}])", "what is no number"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1,NaN]}])", "m (http"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1,1e39]}])", "beyond all bounds"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1,1e999]}])", "m (http"},
           Case{R"([{"embedding":[1,2]},{"embedding":"AACAPw=="}])", "no list of numbers"},
           Case{R"([{"embedding":[1,2]},{"object":"embedding"}])", "without an embedding"},
           Case{R"([{"embedding":[1,2]},{"embedding":[1,2]})", "m (http"},
       }) {
    const Embedded result = data_means(each.data);
    EXPECT_EQ(result.kind, "bad_reply") << each.data << result.sentence;
    EXPECT_NE(result.sentence.find(each.part), std::string::npos) << each.data << result.sentence;
    EXPECT_TRUE(result.sentence.starts_with("The endpoint m (")) << result.sentence;
  }
  const std::string good = R"([{"embedding":[1,2]},{"embedding":[3,4]}])";
  EXPECT_EQ(data_means(good).kind, "vectors");
  EXPECT_NE(data_means(good, 3).sentence.find("2 numbers, and 3 were asked for"),
            std::string::npos);
  std::string many = R"([{"embedding":[1)";
  for (std::size_t i = 0; i < MemoryLimits::kDimension; ++i) many += ",1";
  EXPECT_NE(data_means(many + "]}]").sentence.find("more than 4096 numbers"), std::string::npos);
  EXPECT_EQ(answer_means(answer_of(200, "content-type: text/html\r\n", "<p>hi")).kind, "bad_reply");
  EXPECT_EQ(answer_means(answer_of(200, "content-type: text/event-stream\r\n", "data: 1\n\n")).kind,
            "bad_reply");
}

TEST(Embedder, AnAnswerThatEndsAtAnyByteOrHasOtherBytesIsNoneOrAllOfIt) {
  const std::string whole = json_of(R"({"data":[{"embedding":[1,2]},{"embedding":[3,4]}]})");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(answer_means(whole.substr(0, size), 0, size).kind, "vectors") << size;
  }
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    std::string other = whole;
    other[random.below(other.size())] = static_cast<char>(random.below(256));
    const Embedded result = answer_means(other, 0, static_cast<std::uint64_t>(i));
    if (result.kind == "vectors") {
      EXPECT_EQ(result.vectors.size(), 2u) << other;
    } else {
      EXPECT_FALSE(result.sentence.empty()) << other;
    }
  }
}

TEST(Embedder, FaultsThatPassAreAskedOnceMoreAndOthersAreNot) {
  const Client client = [](std::string url) -> Task<void> {
    HttpEmbedder embedder(Endpoint(url, "m"));
    for (const char* const text : {"fails once", "cut once", "limited once"}) {
      const Embedded result = co_await embedded(&embedder, texts_of(text));
      EXPECT_EQ(result.kind, "vectors") << text << result.sentence;
    }
    const Embedded refused = co_await embedded(&embedder, texts_of("forbidden"));
    EXPECT_EQ(refused.kind, "never") << refused.sentence;
    for (const char* const text : {"less", "wide", "zero", "none"}) {
      HttpEmbedder fresh(Endpoint(url, "m"));
      const Embedded bad = co_await embedded(&fresh, texts_of(text, text));
      EXPECT_EQ(bad.kind, "bad_reply") << text << bad.sentence;
    }
  };
  with_script(R"({"embeddings":[
    {"when":{"contains":"fails"},"fault":500,"times":1},
    {"when":{"contains":"cut"},"fault":"cut","times":1},
    {"when":{"contains":"limited"},"fault":429,"times":1,"retry_after":2},
    {"when":{"contains":"forbidden"},"fault":403},
    {"when":{"contains":"less"},"fault":"one_less"},
    {"when":{"contains":"wide"},"fault":"dimension"},
    {"when":{"contains":"zero"},"fault":"zeros"},
    {"when":{"contains":"none"},"fault":"not_a_number"}]})",
              client);
}

TEST(Embedder, AnEndpointThatFailsIsLeftAloneForAWhileAndTriedByOneQuestion) {
  const std::function<Task<void>()> code = []() -> Task<void> {
    ScriptedModel model(Script::parse(R"({"embeddings":[{"when":{"contains":"x"},"fault":500}]})"));
    Listener listener = Listener::bind(Address::loopback(0));
    auto serving = spawn(serve_script, &model, &listener);
    HttpEmbedder embedder(Endpoint(url_of(listener.local()), "m"));
    Embedded result = co_await embedded(&embedder, texts_of("x"));
    EXPECT_NE(result.sentence.find("answered 500"), std::string::npos) << result.sentence;
    result = co_await embedded(&embedder, texts_of("x"));
    EXPECT_NE(result.sentence.find("answered 500"), std::string::npos) << result.sentence;
    EXPECT_EQ(model.questions(), 3u) << "the third failure in a row is the last";
    result = co_await embedded(&embedder, texts_of("y"));
    EXPECT_EQ(result.kind, "model_failed");
    EXPECT_NE(result.sentence.find("is not asked for 30 s"), std::string::npos) << result.sentence;
    EXPECT_EQ(model.questions(), 3u);
    co_await sleep(31s);
    auto probing = spawn(embedded, &embedder, texts_of("y"));
    co_await yield();
    result = co_await embedded(&embedder, texts_of("y"));
    EXPECT_EQ(result.kind, "model_failed") << "one question tries it";
    result = co_await probing;
    EXPECT_EQ(result.kind, "vectors") << result.sentence;
    result = co_await embedded(&embedder, texts_of("y"));
    EXPECT_EQ(result.kind, "vectors") << result.sentence;
    model.stop();
    co_await serving;
  };
  in_world(1, code);
}

TEST(Embedder, AnEndpointThatAsksForMorePatienceThanThereIsIsNotAskedUntilThen) {
  const Client client = [](std::string url) -> Task<void> {
    HttpEmbedder embedder(Endpoint(url, "m"));
    Embedded result = co_await embedded(&embedder, texts_of("limited"));
    EXPECT_EQ(result.kind, "again") << result.sentence;
    result = co_await embedded(&embedder, texts_of("other"));
    EXPECT_EQ(result.kind, "model_failed") << result.sentence;
    co_await sleep(61s);
    result = co_await embedded(&embedder, texts_of("other"));
    EXPECT_EQ(result.kind, "vectors") << result.sentence;
  };
  with_script(R"({"embeddings":[{"when":{"contains":"limited"},"fault":429,"retry_after":60}]})",
              client, 2);
}

TEST(Embedder, OneThatStallsIsGivenUpInTimeAndACancelClosesTheConnection) {
  const Client client = [](std::string url) -> Task<void> {
    const Time begun = now();
    HttpEmbedder embedder(Endpoint(url, "m"));
    const Embedded result = co_await embedded(&embedder, texts_of("stall"));
    EXPECT_EQ(result.kind, "model_failed") << result.sentence;
    EXPECT_LE(now() - begun, 31s) << "and not asked again";
    auto asking = spawn(embedded, &embedder, texts_of("stall now"));
    co_await sleep(1s);
    asking.cancel("enough");
    (void)co_await asking.outcome();
  };
  with_script(R"({"embeddings":[{"fault":"stall","pause_ms":3600000}]})", client, 2);
}

TEST(Embedder, NoTextsAndTooManyAreAMistakeOfTheCaller) {
  const Client client = [](std::string url) -> Task<void> {
    HttpEmbedder embedder(Endpoint(url, "m"));
    EXPECT_EQ((co_await embedded(&embedder, texts_of())).kind, "bad_argument");
    EXPECT_EQ((co_await embedded(&embedder, Texts(65, "x"))).kind, "bad_argument");
    EXPECT_EQ((co_await embedded(&embedder, Texts(64, "x"))).vectors.size(), 64u);
  };
  with_script(R"({"embeddings":[]})", client, 1);
}

}  // namespace embedder_test
}  // namespace tiffany::agent
