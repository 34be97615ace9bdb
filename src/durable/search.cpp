#include "durable/search.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany {

// ---- Values ----

std::string Attribute::json() const {
  return std::visit([](const auto& value) { return to_json(value); }, value_);
}

Attribute Attribute::from_json(std::string_view json) {
  const char first = json.empty() ? '\0' : json.front();
  if (first == 't' || first == 'f') return Attribute(tiffany::from_json<bool>(json));
  if (first == '"') return Attribute(tiffany::from_json<std::string>(json));
  if (first == '{' || first == '[' || first == 'n' || first == '\0') {
    throw Error(Errc::bad_json, "An attribute is a truth value, a number or a text.");
  }
  const bool whole = json.find_first_of(".eE") == std::string_view::npos;
  if (whole) return Attribute(tiffany::from_json<std::int64_t>(json));
  return Attribute(tiffany::from_json<double>(json));
}

void Attribute::require_good() const {
  if (const auto* const text = std::get_if<std::string>(&value_)) {
    if (text->size() > kLongestName) detail::require_name(*text, "The text of an attribute");
    if (!text->empty()) detail::require_name(*text, "The text of an attribute");
  }
  const auto* const number = std::get_if<double>(&value_);
  if (number != nullptr && !std::isfinite(*number)) {
    throw Error(Errc::bad_argument, "An attribute is a number that JSON has, and not infinite.");
  }
}

std::string Search::json(const Attributes& attributes) {
  std::string text;
  if (attributes.empty()) return text;
  for (const auto& [name, value] : attributes) {
    text += text.empty() ? '{' : ',';
    JsonWriter(text).value(name);
    text += ':';
    text += value.json();
  }
  return text + "}";
}

Attributes Search::read(std::string_view json) {
  Attributes all;
  if (json.empty()) return all;
  JsonReader in(json);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    all.insert_or_assign(name, Attribute::from_json(in.raw()));
  }
  return all;
}

void Search::require(const Attributes& attributes) {
  if (attributes.size() > kMostAttributes) {
    throw Error(Errc::bad_argument, "A durable task has at most " +
                                        std::to_string(kMostAttributes) + " attributes; this has " +
                                        std::to_string(attributes.size()) + ".");
  }
  for (const auto& [name, value] : attributes) {
    detail::require_name(name, "The name of an attribute");
    value.require_good();
  }
}

// ---- The index ----

void Search::set(HostedTask& entry, const std::string& name, Attribute value) {
  if (entry.marks == nullptr) entry.marks = std::make_unique<HostedTask::Marks>();
  const auto [at, added] = entry.marks->attributes.emplace(name, value);
  if (!added) {
    std::map<Attribute, Places>& values = index_[name];
    const auto old = values.find(at->second);
    if (old != values.end() && old->second.erase(entry.number) > 0 && old->second.empty()) {
      values.erase(old);
    }
    at->second = value;
  }
  index_[name][std::move(value)].insert(entry.number);
}

void Search::set(HostedTask& entry, Attributes attributes) {
  forget(entry);
  if (entry.marks != nullptr) entry.marks->attributes.clear();
  for (auto& [name, value] : attributes) set(entry, name, std::move(value));
}

void Search::forget(const HostedTask& entry) noexcept {
  if (entry.marks == nullptr) return;
  for (const auto& [name, value] : entry.marks->attributes) {
    const auto values = index_.find(name);
    if (values == index_.end()) continue;
    const auto places = values->second.find(value);
    if (places == values->second.end()) continue;
    places->second.erase(entry.number);
    if (places->second.empty()) values->second.erase(places);
    if (values->second.empty()) index_.erase(values);
  }
}

// ---- Pages ----

bool Search::fits(const HostedTask& entry, const TaskFilter::Data& filter) const {
  if (filter.type && entry.type_name() != *filter.type) return false;
  if (filter.status && entry.status != *filter.status) return false;
  if (filter.parent && entry.parent != *filter.parent) return false;
  if (filter.key && (entry.marks == nullptr || entry.marks->key != *filter.key)) return false;
  return std::all_of(filter.attributes.begin(), filter.attributes.end(), [&](const auto& wanted) {
    if (entry.marks == nullptr) return false;
    const auto found = entry.marks->attributes.find(wanted.first);
    return found != entry.marks->attributes.end() && found->second == wanted.second;
  });
}

// "number:id". The id counts if its task is here: numbers are other ones after a restart.
std::uint64_t Search::place_of(const std::string& cursor) const {
  if (cursor.empty()) return 0;
  std::uint64_t number = 0;
  const char* const end = cursor.data() + cursor.size();
  const auto read = std::from_chars(cursor.data(), end, number);
  const std::optional<Uuid> id =
      read.ec == std::errc() && read.ptr != end && *read.ptr == ':'
          ? Uuid::parse(
                std::string_view(read.ptr + 1, static_cast<std::size_t>(end - read.ptr - 1)))
          : std::nullopt;
  if (!id) {
    throw Error(
        Errc::bad_argument,
        "Host::tasks: this is no cursor of a page. Take TaskPage::next of the page before.");
  }
  const HostedTask* const entry = host_.tasks.find(*id);
  return entry != nullptr ? entry->number : number;
}

TaskPage Search::find(const TaskFilter& filter, const PageOptions& page) {
  constexpr std::size_t kMostOfAPage = 10'000;
  if (page.size == 0 || page.size > kMostOfAPage) {
    throw Error(Errc::bad_argument, "Host::tasks: a page has 1 to 10000 tasks.");
  }
  const std::uint64_t after = place_of(page.after);
  TaskPage found;
  std::uint64_t last = 0;
  // False: the page is full, and there is more.
  const auto take = [&](const HostedTask& entry) {
    if (!fits(entry, filter.data())) return true;
    if (found.tasks.size() == page.size) {
      found.next = std::to_string(last) + ":" + found.tasks.back().id.text();
      return false;
    }
    found.tasks.push_back(host_.results.short_info(entry));
    last = entry.number;
    return true;
  };
  // The attribute that the fewest tasks have is looked through; without one, the table.
  const Places* fewest = nullptr;
  for (const auto& [name, value] : filter.data().attributes) {
    const auto values = index_.find(name);
    if (values == index_.end()) return found;
    const auto places = values->second.find(value);
    if (places == values->second.end()) return found;
    if (fewest == nullptr || places->second.size() < fewest->size()) fewest = &places->second;
  }
  if (fewest != nullptr && page.newest) {
    auto place = after == 0 ? fewest->end() : fewest->lower_bound(after);
    while (place != fewest->begin() && take(*host_.tasks.by_number(*--place))) continue;
    return found;
  }
  if (fewest != nullptr) {
    for (auto place = fewest->upper_bound(after); place != fewest->end(); ++place) {
      if (!take(*host_.tasks.by_number(*place))) break;
    }
    return found;
  }
  if (page.newest) {
    std::size_t i = after == 0 ? host_.tasks.size() : host_.tasks.first_after(after - 1);
    while (i > 0 && take(host_.tasks[--i])) continue;
    return found;
  }
  for (std::size_t i = host_.tasks.first_after(after); i < host_.tasks.size(); ++i) {
    if (!take(host_.tasks[i])) break;
  }
  return found;
}

}  // namespace tiffany
