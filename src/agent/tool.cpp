#include "tiffany/agent/tool.hpp"

#include <algorithm>

#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {

Task<ToolAnswer> Tool::await(ToolContext) {
  throw Error(Errc::bad_tool, "The tool " + offer().name + " has no calls that go on elsewhere.");
  co_return ToolAnswer();
}
Task<void> Tool::stop(ToolContext /*where*/) { co_return; }

std::string mistakes_in_call(const ToolOffer& offer, std::string_view arguments) {
  std::string all;
  for (const std::string& each : check_against(offer.schema, arguments)) {
    all += (all.empty() ? "" : " ") + each;
  }
  return all.empty() ? all : "The arguments of " + offer.name + " do not fit: " + all;
}

void ToolSet::add(std::shared_ptr<Tool> tool) {
  const std::string& name = tool->offer().name;
  if (name.empty()) throw Error(Errc::bad_tool, "A tool needs a name.");
  const auto at = std::lower_bound(
      tools_.begin(), tools_.end(), name,
      [](const auto& each, const std::string& wanted) { return each->offer().name < wanted; });
  if (at != tools_.end() && (*at)->offer().name == name) {
    throw Error(Errc::bad_tool, "There are two tools with the name \"" + name + "\".");
  }
  tools_.insert(at, std::move(tool));
}

std::vector<std::shared_ptr<Tool>> ToolSet::take_out(std::string_view prefix) {
  std::vector<std::shared_ptr<Tool>> taken;
  for (auto& each : tools_) {
    if (each->offer().name.starts_with(prefix)) taken.push_back(each);
  }
  std::erase_if(tools_, [&](const auto& each) { return each->offer().name.starts_with(prefix); });
  return taken;
}

Tool* ToolSet::find(std::string_view name) const noexcept {
  for (const auto& each : tools_) {
    if (each->offer().name == name) return each.get();
  }
  return nullptr;
}

std::vector<ToolOffer> ToolSet::offers() const {
  std::vector<ToolOffer> all;
  for (const auto& each : tools_) all.push_back(each->offer());
  return all;
}

std::string ToolSet::names() const {
  std::string all;
  for (const auto& each : tools_) all += (all.empty() ? "" : ", ") + each->offer().name;
  return all;
}

std::string ToolSet::about_missing(std::string_view name) const {
  for (const auto& [prefix, why] : missed_) {
    if (name.starts_with(prefix)) return "There is no tool \"" + std::string(name) + "\". " + why;
  }
  return "There is no tool \"" + std::string(name) + "\". Tools: " + names();
}

std::string ToolSet::digest() const {
  std::string all;
  for (const auto& each : tools_) {
    all += to_json(each->offer());
    all += each->traits().pin + "\n";
  }
  return sha256_hex(all);
}

}  // namespace tiffany::agent
