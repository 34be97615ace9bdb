#include "tiffany/agent/router.hpp"

#include <algorithm>
#include <exception>
#include <set>

#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/durable/failures.hpp"

namespace tiffany::agent {

namespace {

constexpr std::int64_t kMillion = 1'000'000;
// So that a count times the highest price is within 64 bits.
constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr std::size_t kBytesOfTokenAtLeast = 3;
constexpr std::size_t kTokensOfFrame = 8;  // around a message or a tool

std::int64_t part_of_price(std::int64_t tokens, std::int64_t price) noexcept {
  return std::clamp<std::int64_t>(tokens, 0, kMostTokens) * price;
}

}  // namespace

std::int64_t Price::of(const Usage& usage) const noexcept {
  const std::int64_t held =
      std::clamp<std::int64_t>(usage.cached, 0, std::max<std::int64_t>(usage.input, 0));
  // Each is rounded up by itself: their sum may be beyond 64 bits.
  std::int64_t cost = 0;
  for (const std::int64_t part :
       {part_of_price(usage.input - held, input), part_of_price(held, cached),
        part_of_price(usage.output, output)}) {
    cost += (part + kMillion - 1) / kMillion;
  }
  return cost;
}

Router::Router(std::vector<Route> routes, RouterOptions options)
    : routes_(std::move(routes)), health_(routes_.size()), options_(options) {
  if (routes_.empty()) throw Error(Errc::bad_argument, "A router has at least one model.");
  std::set<std::string> names;
  for (const Route& route : routes_) {
    if (route.name.empty() || route.model == nullptr) {
      throw Error(Errc::bad_argument, "A route of a router has a name and a model.");
    }
    if (!names.insert(route.name).second) {
      throw Error(Errc::bad_argument, "Two models have the name " +
                                          tiffany::detail::shown(route.name) +
                                          ": give each a name of its own.");
    }
  }
}

std::vector<std::size_t> Router::candidates(std::string_view model) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (answers_to(routes_[i], model)) found.push_back(i);
  }
  return found;
}

Estimate Router::estimate(const Request& request) const {
  std::size_t bytes = request.output_schema.size();
  std::size_t frames = request.messages.size() + request.tools.size();
  for (const Message& message : request.messages) {
    bytes += message.text.size() + message.call_id.size();
    frames += message.calls.size();
    for (const ToolCall& call : message.calls) {
      bytes += call.id.size() + call.name.size() + call.arguments.size();
    }
  }
  for (const ToolOffer& tool : request.tools) {
    bytes += tool.name.size() + tool.about.size() + tool.schema.size();
  }
  Usage usage;
  usage.input =
      static_cast<std::int64_t>(bytes / kBytesOfTokenAtLeast + 1 + frames * kTokensOfFrame);
  usage.output = request.most_output;
  Estimate found;
  found.input = usage.input;
  found.output = usage.output;
  found.micro_dollars = price(usage, "");
  if (request.model.empty()) return found;
  std::int64_t dearest = -1;
  for (const std::size_t i : candidates(request.model)) {
    dearest = std::max(dearest, routes_[i].price.of(usage));
  }
  if (dearest >= 0) found.micro_dollars = dearest;
  return found;
}

std::optional<std::int64_t> Router::cost(const Reply& reply) const {
  if (!reply.usage.known) return std::nullopt;
  return price(reply.usage, reply.model);
}

std::int64_t Router::price(const Usage& usage, std::string_view model) const {
  std::int64_t dearest = 0;
  for (const Route& route : routes_) {
    const std::int64_t cost = route.price.of(usage);
    if (!model.empty() && route.name == model) return cost;
    dearest = std::max(dearest, cost);
  }
  return dearest;
}

std::int64_t Router::context(std::string_view model) const {
  std::int64_t least = 0;
  for (const std::size_t i : candidates(model)) {
    const std::int64_t own = routes_[i].context;
    if (own > 0) least = least == 0 ? own : std::min(least, own);
  }
  return least;
}

bool Router::left_out(std::size_t route) const {
  const Health& health = health_.at(route);
  return health.probing || health.closed_until > now();
}

// One question, on its way from route to route.
class Router::Asking {
 public:
  explicit Asking(Router& router) noexcept : router_(router) {}

  // A question that finds out whether a route that was left out answers again: one at a time.
  class Probe {
   public:
    Probe(Health& health, int failures) noexcept
        : health_(health.failures >= failures ? &health : nullptr) {
      if (health_ != nullptr) health_->probing = true;
    }
    ~Probe() {
      if (health_ != nullptr) health_->probing = false;
    }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

   private:
    Health* health_;
  };

  void note_left_out(std::size_t i) {
    const Health& health = router_.health_[i];
    const Duration rest = std::max<Duration>(health.closed_until - now(), std::chrono::seconds(1));
    wait_ = std::min(wait_.value_or(rest), rest);
    say(i, "is left out for " + duration_text(rest) + " because it failed or asked to wait.");
  }
  // Throws it on when the step is to wait for this route.
  void note_patience(std::size_t i, const RetryAfter& error, bool last) {
    if (error.delay() <= router_.options_.patience && (last || !failed_)) throw;
    router_.health_[i].closed_until = now() + error.delay();
    wait_ = std::min(wait_.value_or(error.delay()), error.delay());
    say(i, error.what());
  }
  void note_failure(std::size_t i, const std::exception& error) {
    Health& health = router_.health_[i];
    if (++health.failures >= router_.options_.failures) {
      health.closed_until = now() + router_.options_.pause;
    }
    failed_ = true;
    say(i, error.what());
  }
  void note_refusal(std::size_t i, const NotRetryable& error) { say(i, error.what()); }

  // None has answered.
  [[noreturn]] void give_up() const {
    const std::string all = count_ == 1 ? said_ : "No model answered. " + said_;
    if (failed_) throw Error(Errc::model_failed, all);
    if (wait_) throw RetryAfter(*wait_, all);
    throw NotRetryable(all);
  }

 private:
  void say(std::size_t i, std::string_view what) {
    if (count_++ > 0) said_ += ' ';
    said_ += tiffany::detail::shown(router_.routes_[i].name) + ": ";
    said_ += what;
  }

  Router& router_;
  std::optional<Duration> wait_;
  bool failed_ = false;
  int count_ = 0;
  std::string said_;
};

Task<Reply> Router::ask(Request request, Try attempt, LiveText live) {
  const std::vector<std::size_t> routes = candidates(request.model);
  if (routes.empty()) {
    std::string known;
    for (const Route& route : routes_) known += (known.empty() ? "" : ", ") + route.name;
    throw NotRetryable("There is no model " + tiffany::detail::shown(request.model) +
                       ". There are: " + known + ".");
  }
  Asking asking(*this);
  for (const std::size_t i : routes) {
    if (left_out(i)) {
      asking.note_left_out(i);
      continue;
    }
    const Route& route = routes_[i];
    const Asking::Probe probe(health_[i], options_.failures);
    Request own = request;
    own.model = route.name;
    if (route.most_output > 0) own.most_output = std::min(own.most_output, route.most_output);
    try {
      Reply reply = co_await route.model->ask(std::move(own), attempt, live);
      health_[i] = Health();
      reply.model = route.name;
      co_return reply;
    } catch (const RetryAfter& error) {
      asking.note_patience(i, error, i == routes.back());
    } catch (const NotRetryable& error) {
      asking.note_refusal(i, error);
    } catch (const std::exception& error) {
      asking.note_failure(i, error);
    }
  }
  asking.give_up();
}

}  // namespace tiffany::agent
