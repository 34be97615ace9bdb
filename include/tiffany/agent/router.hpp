// Several models behind one: which of them is asked, what that costs, and what is done when one
// fails.
//
//   std::unique_ptr<Router> models = co_await read_models("models.json");
//   Reply reply = co_await models->ask(request, attempt, live);    // reply.model: which answered
//
// A request that names a model (by the name of a route, or by what its endpoint calls it) goes to
// routes of that name only; another one goes to the routes in their order. The next route is asked
// when one fails, refuses for good, or asks for more patience than `patience`; what the last one
// would have thrown is thrown when none answers, with the sentences of all. A route that has failed
// `failures` times in a row is left out for `pause`, by the clock of the scheduler; then one
// question tries it. Nothing here is random, and nothing is kept: after a restart every route is
// tried again. How long a step waits between its attempts is the step's (Retry).
//
// Costs are counted in micro-dollars (a millionth of a dollar), in whole numbers, rounded up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/agent/model.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::agent {

// Micro-dollars for a million tokens: 2,500,000 is what is sold as $2.50. 1,000 dollars at most.
class Price {
 public:
  static constexpr std::int64_t kMost = 1'000'000'000;
  Price() = default;
  Price(std::int64_t for_input, std::int64_t for_cached, std::int64_t for_output)
      : input(for_input), cached(for_cached), output(for_output) {}
  std::int64_t input = 0;
  std::int64_t cached = 0;
  std::int64_t output = 0;

  std::int64_t of(const Usage& usage) const noexcept;  // micro-dollars
};

class Route {
 public:
  Route(std::string called, std::shared_ptr<Model> asked)
      : name(std::move(called)), model(std::move(asked)) {}
  std::string name;  // unique in its router; what Reply::model says
  std::shared_ptr<Model> model;
  std::string id{};  // what the endpoint calls it; a request may name it by that, too
  Price price{};
  std::int64_t context = 0;      // tokens that a question and its reply may have; 0: not known
  std::int64_t most_output = 0;  // a larger Request::most_output is made so small; 0: never
};

class RouterOptions {
 public:
  RouterOptions() = default;
  int failures = 3;
  Duration pause = std::chrono::seconds(30);
  Duration patience = std::chrono::seconds(10);
};

// What a request will need at the most.
struct Estimate {
  std::int64_t input = 0;  // tokens
  std::int64_t output = 0;
  std::int64_t micro_dollars = 0;
};

class Router final : public Model {
 public:
  // Error (bad_argument) when there is no route, or a name is there twice.
  explicit Router(std::vector<Route> routes, RouterOptions options = RouterOptions());

  // Throws as Model::ask; NotRetryable also when no route has the name that the request gives.
  // RetryAfter when every route is left out for now. Cancel: as the model that is asked.
  Task<Reply> ask(Request request, Try attempt, LiveText live) override;

  // One token for three bytes, and eight for each message and tool: more than English text, code
  // and JSON have (about four bytes a token). Not a bound for every text: of rare scripts and
  // random bytes a token may be one byte. The price is that of the dearest route that may answer.
  Estimate estimate(const Request& request) const;
  // Nothing when the usage is not known: then an estimate stands.
  std::optional<std::int64_t> cost(const Reply& reply) const;
  // The same for AgentServices::price; of a name that no route has, and of "", by the dearest.
  std::int64_t price(const Usage& usage, std::string_view model) const;
  // The least that routes of this name have, all routes for ""; 0: not known.
  std::int64_t context(std::string_view model) const;

  const std::vector<Route>& routes() const noexcept { return routes_; }
  // Whether the route of that place is left out now.
  bool left_out(std::size_t route) const;

 private:
  struct Health {
    int failures = 0;  // in a row
    Time closed_until{};
    bool probing = false;
  };
  class Asking;
  std::vector<std::size_t> candidates(std::string_view model) const;
  bool answers_to(const Route& route, std::string_view model) const noexcept {
    return model.empty() || route.name == model || route.id == model;
  }

  std::vector<Route> routes_;
  std::vector<Health> health_;
  RouterOptions options_;
};

// From a file such as docs/25-agents.md describes. Scripts, keys and certificates that it names are
// found from its directory. Throws IoError when a file cannot be read, Error (bad_json,
// bad_argument) with the first mistake and its place. Cancel: nothing is made.
Task<std::unique_ptr<Router>> read_models(std::string path);

}  // namespace tiffany::agent
