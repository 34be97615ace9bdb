// models.json. docs/25-agents.md has the format for those who write one.
#include <filesystem>
#include <utility>

#include "agent/config_reader.hpp"
#include "agent/endpoint_reader.hpp"
#include "tiffany/agent/http_model.hpp"
#include "tiffany/agent/plan_file.hpp"
#include "tiffany/agent/router.hpp"
#include "tiffany/io/file.hpp"

namespace tiffany::agent {

namespace {

constexpr std::size_t kLongestModels = std::size_t{1} << 20;
constexpr std::size_t kMostModels = 100;

// One element of "models": an endpoint, or a plan.
struct ModelEntry {
  ModelEntry() = default;
  Endpoint endpoint{"", ""};
  std::string plan{};
  Route route{"", nullptr};
};

class ModelsReader {
 public:
  ModelsReader(const std::string& path, std::string_view text)
      : in_(path, text), directory_(std::filesystem::path(path).parent_path()) {}

  void read() {
    in_.whole([&] {
      in_.object({"models", "failures", "pause_s", "patience_s"}, [&](std::string_view name) {
        if (name == "models") {
          in_.array(kMostModels, [&](std::size_t) { entries.push_back(read_entry()); });
        } else if (name == "failures") {
          options.failures = static_cast<int>(in_.integer(1, 1000));
        } else {
          (name == "pause_s" ? options.pause : options.patience) = read_seconds(in_);
        }
      });
      if (entries.empty()) in_.fail("has no \"models\".");
    });
  }

  std::vector<ModelEntry> entries;
  RouterOptions options;

 private:
  std::string path() { return (directory_ / in_.text()).string(); }

  ModelEntry read_entry() {
    ModelEntry entry;
    Endpoint& endpoint = entry.endpoint;
    Route& route = entry.route;
    bool remote = false;
    in_.object({"name", "plan", "url", "model", "protocol", "key", "key_header", "limit_member",
                "streamed", "trust", "first_byte_s", "idle_s", "deadline_s", "most_bytes", "price",
                "context", "most_output"},
               [&](std::string_view name) {
                 if (name == "name") {
                   route.name = in_.text();
                 } else if (name == "plan") {
                   entry.plan = path();
                 } else if (name == "price") {
                   route.price = read_price();
                 } else if (name == "context") {
                   route.context = in_.integer(1, Price::kMost);
                 } else if (name == "most_output") {
                   route.most_output = in_.integer(1, Price::kMost);
                 } else if (name == "model") {
                   endpoint.model = in_.text();
                 } else {
                   remote = true;
                   read_endpoint_member(in_, directory_, name, endpoint);
                 }
               });
    if (entry.plan.empty() && endpoint.url.empty()) in_.fail("has neither \"url\" nor \"plan\".");
    if (!entry.plan.empty() && remote) {
      in_.fail("has a \"plan\", and members that are for an endpoint.");
    }
    if (entry.plan.empty() && endpoint.model.empty()) in_.fail("has no \"model\".");
    if (route.name.empty()) route.name = endpoint.model;
    if (route.name.empty()) in_.fail("has no \"name\".");
    route.id = endpoint.model;
    endpoint.name = route.name;
    return entry;
  }

  Price read_price() {
    Price price;
    bool cached = false;
    in_.object({"input", "cached", "output"}, [&](std::string_view name) {
      cached = cached || name == "cached";
      (name == "input"    ? price.input
       : name == "cached" ? price.cached
                          : price.output) = in_.integer(0, Price::kMost);
    });
    if (!cached) price.cached = price.input;
    return price;
  }

  ConfigReader in_;
  std::filesystem::path directory_;
};

}  // namespace

Task<std::unique_ptr<Router>> read_models(std::string path) {
  const std::string text = co_await read_file(path, kLongestModels);
  ModelsReader reader(path, text);
  reader.read();
  std::vector<Route> routes;
  for (ModelEntry& entry : reader.entries) {
    if (entry.plan.empty()) {
      entry.route.model = std::make_shared<HttpModel>(std::move(entry.endpoint));
    } else {
      Script script = co_await read_script(entry.plan);
      entry.route.model = std::make_shared<PlanFile>(std::move(script));
    }
    routes.push_back(std::move(entry.route));
  }
  co_return std::make_unique<Router>(std::move(routes), reader.options);
}

}  // namespace tiffany::agent
