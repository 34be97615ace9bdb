#include "tiffany/agent/router.hpp"

#include "model_world.hpp"
#include "tiffany/agent/plan_file.hpp"

namespace tiffany::agent {
namespace router_test {
namespace {

using namespace std::chrono_literals;
using model_test::in_world;
using model_test::Result;
using model_test::result_of;

// Says its name, or throws what it is told to.
class MoodyModel final : public Model {
 public:
  Task<Reply> ask(Request request, Try, LiveText) override {
    ++asked;
    last = request;
    co_await sleep(work);
    if (mood == "fail") throw Error(Errc::model_failed, "It is ill.");
    if (mood == "never") throw NotRetryable("It does not want to.");
    if (mood == "soon") throw RetryAfter(2s, "Soon.");
    if (mood == "late") throw RetryAfter(60s, "Late.");
    Reply reply;
    reply.message = Message::assistant("hello");
    reply.model = "what the endpoint says";
    co_return reply;
  }
  std::string mood;
  Duration work{};
  int asked = 0;
  Request last;
};

struct Two {
  Two() {
    Route small("small", a);
    small.id = "tiny-1";
    small.price = Price(1'000'000, 100'000, 2'000'000);
    small.context = 8'000;
    small.most_output = 500;
    Route big("big", b);
    big.id = "large-2";
    big.price = Price(3'000'000, 3'000'000, 9'000'000);
    std::vector<Route> routes;
    routes.push_back(small);
    routes.push_back(big);
    router = std::make_unique<Router>(std::move(routes));
  }
  std::shared_ptr<MoodyModel> a = std::make_shared<MoodyModel>();
  std::shared_ptr<MoodyModel> b = std::make_shared<MoodyModel>();
  std::unique_ptr<Router> router;
};

Request for_model(std::string name) {
  Request request;
  request.model = std::move(name);
  return request;
}

TEST(Router, TheFirstModelAnswersOrTheOneThatTheRequestNames) {
  in_world(1, []() -> Task<void> {
    Two two;
    Result result = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(result.reply.model, "small");
    EXPECT_EQ(two.a->last.most_output, 500);
    result = co_await result_of(two.router.get(), for_model("big"));
    EXPECT_EQ(result.reply.model, "big");
    EXPECT_EQ(two.b->last.most_output, 8192);
    result = co_await result_of(two.router.get(), for_model("large-2"));
    EXPECT_EQ(result.reply.model, "big");
    result = co_await result_of(two.router.get(), for_model("huge"));
    EXPECT_EQ(result.kind, "never");
    EXPECT_EQ(result.sentence, "There is no model huge. There are: small, big.");
  });
}

TEST(Router, TheNextModelIsAskedWhenOneFailsOrWantsTooMuchPatience) {
  in_world(1, []() -> Task<void> {
    for (const std::string mood : {"fail", "never", "late"}) {
      Two two;
      two.a->mood = mood;
      const Result result = co_await result_of(two.router.get(), Request());
      EXPECT_EQ(result.reply.model, "big") << mood;
      const Result named = co_await result_of(two.router.get(), for_model("small"));
      EXPECT_NE(named.kind, "reply") << "another model was not asked for";
    }
    Two two;
    two.a->mood = "soon";
    const Result result = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(result.kind, "again");
    EXPECT_EQ(result.delay, 2s);
    EXPECT_EQ(two.b->asked, 0);
  });
}

TEST(Router, WhenNoneAnswersTheSentenceHasAll) {
  in_world(1, []() -> Task<void> {
    Two two;
    two.a->mood = "never";
    two.b->mood = "fail";
    Result result = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(result.kind, "model_failed");
    EXPECT_EQ(result.sentence, "No model answered. small: It does not want to. big: It is ill.");
    two.b->mood = "never";
    result = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(result.kind, "never");
    two.b->mood = "late";
    result = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(result.kind, "again");
    EXPECT_EQ(result.delay, 60s);
  });
}

TEST(Router, AModelThatFailsAgainAndAgainIsLeftOutAndThenTriedByOneQuestion) {
  in_world(1, []() -> Task<void> {
    Two two;
    two.a->mood = "fail";
    for (int i = 0; i < 5; ++i) (void)co_await result_of(two.router.get(), Request());
    EXPECT_EQ(two.a->asked, 3);
    EXPECT_EQ(two.b->asked, 5);
    EXPECT_TRUE(two.router->left_out(0));
    const Result alone = co_await result_of(two.router.get(), for_model("small"));
    EXPECT_EQ(alone.kind, "again");
    EXPECT_EQ(alone.delay, 30s);
    co_await sleep(30s);
    // One of ten that ask at the same time tries it.
    two.a->work = 1s;
    std::vector<Handle<Result>> asking;
    for (int i = 0; i < 10; ++i) {
      asking.push_back(
          spawn([](Router* router) { return result_of(router, Request()); }, two.router.get()));
    }
    for (auto& each : asking) {
      const Result result = co_await each;
      EXPECT_EQ(result.reply.model, "big");
    }
    EXPECT_EQ(two.a->asked, 4);
    co_await sleep(31s);
    two.a->mood = "";
    const Result well = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(well.reply.model, "small");
    EXPECT_FALSE(two.router->left_out(0));
  });
}

TEST(Router, ACancelledTrialLeavesTheModelToTheNextQuestion) {
  in_world(1, []() -> Task<void> {
    Two two;
    two.a->mood = "fail";
    for (int i = 0; i < 3; ++i) (void)co_await result_of(two.router.get(), Request());
    co_await sleep(30s);
    two.a->work = 10s;
    Task<Result> asking = result_of(two.router.get(), Request());
    (void)co_await within(1s, std::move(asking));
    two.a->mood = "";
    const Result well = co_await result_of(two.router.get(), Request());
    EXPECT_EQ(well.reply.model, "small");
  });
}

TEST(Router, CountsCostsInWholeNumbersRoundedUp) {
  const Two two;
  Request request;
  request.messages.push_back(Message::user(std::string(2'976, 'x')));
  request.most_output = 1'000;
  Estimate estimate = two.router->estimate(request);
  EXPECT_EQ(estimate.input, 2'976 / 3 + 1 + 8);
  EXPECT_EQ(estimate.output, 1'000);
  EXPECT_EQ(estimate.micro_dollars, 1'001 * 3 + 9'000);  // of the dearest
  request.model = "tiny-1";
  EXPECT_EQ(two.router->estimate(request).micro_dollars, 1'001 + 2'000);

  Reply reply;
  reply.model = "small";
  EXPECT_EQ(two.router->cost(reply), std::nullopt);
  reply.usage.known = true;
  reply.usage.input = 1'001;
  reply.usage.cached = 1;
  reply.usage.output = 3;
  EXPECT_EQ(two.router->cost(reply), 1'000 + 1 + 6);
  reply.usage.input = reply.usage.cached = reply.usage.output = INT64_MAX;
  EXPECT_GT(two.router->cost(reply).value(), 0);
  EXPECT_EQ(two.router->context("small"), 8'000);
  EXPECT_EQ(two.router->context("big"), 0);
}

// Reads models.json of that text, and a script beside it.
std::string read_of(const std::string& text) {
  std::string said;
  in_world(1, [&]() -> Task<void> {
    {
      File file = co_await open_file("models.json", FileMode::create);
      co_await file.write_at(0, text);
      File script = co_await open_file("plan.json", FileMode::create);
      co_await script.write_at(0, std::string_view(R"([{"reply": {"text": "planned"}}])"));
    }
    try {
      const std::unique_ptr<Router> router = co_await read_models("models.json");
      for (const Route& route : router->routes()) {
        said += route.name + " " + route.id + " " + std::to_string(route.price.cached) + ";";
      }
      const Result result = co_await result_of(router.get(), for_model("offline"));
      said += result.reply.message.text;
    } catch (const Error& error) {
      said = error.what();
    }
  });
  return said;
}

TEST(Router, IsReadFromAFile) {
  EXPECT_EQ(read_of(R"({"models": [
      {"name": "fast", "url": "http://127.0.0.1:8080", "model": "m-1", "protocol": "responses",
       "key": {"env": "KEY"}, "price": {"input": 5, "output": 7}, "context": 1000, "idle_s": 5},
      {"name": "offline", "plan": "plan.json"}], "failures": 2, "pause_s": 5, "patience_s": 1})"),
            "fast m-1 5;offline  0;planned");
}

TEST(Router, MistakesInItsFileAreSentencesWithTheirPlace) {
  EXPECT_EQ(read_of("{}"), "models.json: the whole has no \"models\".");
  EXPECT_EQ(read_of(R"({"models": [{"name": "a"}]})"),
            "models.json: models[0] has neither \"url\" nor \"plan\".");
  EXPECT_EQ(read_of(R"({"models": [{"url": "http://h"}]})"),
            "models.json: models[0] has no \"model\".");
  EXPECT_EQ(read_of(R"({"models": [{"url": "http://h", "model": "m", "key": "sk-1"}]})"),
            "models.json: models[0].key must say where the key is: {\"file\": ...} or {\"env\": "
            "...}. The key itself does not belong into this file.");
  EXPECT_EQ(read_of(R"({"models": [{"plan": "plan.json", "name": "p", "url": "http://h"}]})"),
            "models.json: models[0] has a \"plan\", and members that are for an endpoint.");
  EXPECT_EQ(read_of(R"({"models": [{"url": "h", "model": "m"}]})").substr(0, 26),
            "The URL of an endpoint, h,");
  EXPECT_EQ(read_of(R"({"models": [{"plan": "plan.json", "name": "p", "price": {"input": 0.5}}]})"),
            "models.json: models[0].price.input must be a whole number from 0 to 1000000000.");
  EXPECT_EQ(read_of(R"({"models": [{"plan": "plan.json", "name": "p"},
                                   {"plan": "plan.json", "name": "p"}]})"),
            "Two models have the name p: give each a name of its own.");
}

}  // namespace
}  // namespace router_test
}  // namespace tiffany::agent
