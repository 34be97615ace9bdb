#include "plan/reader.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

namespace tiffany::plan {
namespace {

std::string shown_value(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    out += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
  }
  return "\"" + out + (text.size() > kMost ? "...\"" : "\"");
}

// How many letters have to be put in, taken out or changed; `most` when it is no less. Looks only
// at pairs of places that are less than `most` apart: all others need as many changes.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= most) return most;
  std::vector<std::size_t> row(b.size() + 1, most);
  for (std::size_t j = 0; j < std::min(row.size(), most); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t first = i < most ? 0 : i - most + 1;
    const std::size_t last = std::min(b.size(), i + most - 1);
    std::size_t before = first == 0 ? row[0] : row[first - 1];  // of the row above, one to the left
    std::size_t least = most;
    for (std::size_t j = first; j <= last; ++j) {
      std::size_t best = row[j] + 1;
      if (j > 0) best = std::min(best, before + (a[i - 1] == b[j - 1] ? 0 : 1));
      if (j > first) best = std::min(best, row[j - 1] + 1);
      before = row[j];
      row[j] = best;
      least = std::min(least, best);
    }
    if (least >= most) return most;
  }
  return std::min(row[b.size()], most);
}

struct Measure {
  std::string_view name;
  std::int64_t factor;
};

// Digits and units, again and again; -1: it is not that.
std::int64_t sum_of(std::string_view text, const std::vector<Measure>& units) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t sum = 0;
  if (text.empty()) return -1;
  while (!text.empty()) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || count < 0) return -1;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto unit = std::find_if(units.begin(), units.end(), [&](const Measure& each) {
      return text.starts_with(each.name) &&
             (text.size() == each.name.size() ||
              std::isdigit(static_cast<unsigned char>(text[each.name.size()])) != 0);
    });
    if (unit == units.end() || count > kMost / unit->factor) return -1;
    sum += count * unit->factor;
    if (sum > kMost) return -1;
    text.remove_prefix(unit->name.size());
  }
  return sum;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t least = word.size() < 4 ? 2 : 3;  // fewer changes than this are a slip
  for (const std::string_view each : known) {
    if (word.size() > 100) break;
    const std::size_t far = distance(word, each, least);
    if (far >= least) continue;
    least = far;
    best = each;
  }
  return best.empty() ? "" : " Did you mean \"" + std::string(best) + "\"?";
}

void Reader::complain(const Node& at, std::string sentence) {
  constexpr std::size_t kLongestSentence = 1'000;
  if (full()) return;
  if (sentence.size() > kLongestSentence) {
    sentence.resize(tiffany::detail::utf8_prefix(sentence, kLongestSentence).size());
    sentence += "...";
  }
  mistakes_.push_back({at.line, at.column, std::move(sentence)});
}

bool Reader::require_map(const Node& node, const std::string& what,
                         const std::vector<std::string_view>& known) {
  if (!node.is(Node::Kind::map)) {
    complain(node, what + " is a map of keys and values, and this is " + name_of(node.kind) + ".");
    return false;
  }
  std::map<std::string_view, int> lines;
  for (const auto& [key, value] : node.members) {
    if (full()) break;
    if (!key.is(Node::Kind::scalar)) {
      complain(key, what + " has a key that is " + name_of(key.kind) + ". A key is a word.");
      continue;
    }
    const auto [before, first] = lines.emplace(key.text, key.line);
    if (!first) {
      complain(key, what + " has the key " + shown_value(key.text) +
                        " twice; the first is in line " + std::to_string(before->second) + ".");
    }
    if (known.empty() || std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    std::string all;
    for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
    const std::string meant = did_you_mean(key.text, known);
    complain(key, what + " has no key " + shown_value(key.text) + "." +
                      (meant.empty() ? " The keys are: " + all + "." : meant));
  }
  return true;
}

const Node* Reader::member(const Node& map, std::string_view key) {
  for (const auto& [name, value] : map.members) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

std::string Reader::text(const Node& node, const std::string& what) {
  if (!node.is(Node::Kind::scalar)) {
    complain(node, what + " is a text, and this is " + name_of(node.kind) + ".");
    return "";
  }
  if (node.text.find('\0') != std::string::npos) complain(node, what + " has a zero byte.");
  return node.text;
}

std::vector<std::string> Reader::texts(const Node& node, const std::string& what,
                                       std::size_t most) {
  std::vector<std::string> all;
  if (!node.is(Node::Kind::list)) {
    complain(node, what + " is a list, and this is " + name_of(node.kind) +
                       ". Write [one, two], or a line with a '-' for each.");
    return all;
  }
  if (node.items.size() > most) {
    complain(node, what + " has " + std::to_string(node.items.size()) + " entries, and at most " +
                       std::to_string(most) + " are taken.");
    return all;
  }
  for (const Node& item : node.items) all.push_back(text(item, "An entry of " + what));
  return all;
}

std::vector<std::string> Reader::names(const Node& node, const std::string& what) {
  if (node.is(Node::Kind::scalar)) return {node.text};
  return texts(node, what, kMostSteps);
}

bool Reader::flag(const Node& node, const std::string& what) {
  if (node.is(Node::Kind::scalar) && !node.quoted) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  complain(node, what + " is true or false.");
  return false;
}

std::int64_t Reader::whole(const Node& node, const std::string& what, std::int64_t least,
                           std::int64_t most, std::int64_t otherwise) {
  std::int64_t value = 0;
  const char* const last = node.text.data() + node.text.size();
  const auto [end, error] = std::from_chars(node.text.data(), last, value);
  if (node.is(Node::Kind::scalar) && error == std::errc() && end == last && value >= least &&
      value <= most) {
    return value;
  }
  complain(node, what + " is a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ".");
  return otherwise;
}

double Reader::number(const Node& node, const std::string& what, double least, double most,
                      double otherwise) {
  char* end = nullptr;
  const double value = std::strtod(node.text.c_str(), &end);
  if (node.is(Node::Kind::scalar) && !node.text.empty() && *end == '\0' && value >= least &&
      value <= most) {
    return value;
  }
  const auto plain = [](double limit) { return std::to_string(static_cast<long long>(limit)); };
  complain(node, what + " is a number from " + plain(least) + " to " + plain(most) + ".");
  return otherwise;
}

std::int64_t Reader::duration(const Node& node, const std::string& what, std::int64_t otherwise) {
  static const std::vector<Measure> kUnits = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  const std::int64_t sum = node.is(Node::Kind::scalar) ? sum_of(node.text, kUnits) : -1;
  if (sum > 0) return sum;
  complain(node, what + " is a time like 500ms, 30s, 5m or 1h30m, and not " +
                     shown_value(node.text) + ".");
  return otherwise;
}

std::uint64_t Reader::size(const Node& node, const std::string& what, std::uint64_t otherwise) {
  static const std::vector<Measure> kUnits = {
      {"k", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"", 1}};
  const std::int64_t sum = node.is(Node::Kind::scalar) ? sum_of(node.text, kUnits) : -1;
  if (sum > 0) return static_cast<std::uint64_t>(sum);
  complain(node,
           what + " is a size like 65536, 64k, 10M or 2G, and not " + shown_value(node.text) + ".");
  return otherwise;
}

bool Reader::require_name(const Node& node, const std::string& name, const std::string& what) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  const bool first =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  if (first && name.size() <= kLongestStepName && std::all_of(name.begin(), name.end(), fits)) {
    return true;
  }
  complain(node, what +
                     " is a name of letters, digits, '_' and '-' that does not begin with a "
                     "digit, of at most " +
                     std::to_string(kLongestStepName) + " characters, and not " +
                     shown_value(name) + ".");
  return false;
}

}  // namespace tiffany::plan
