// The words of a command line by the table of commands. The one file that includes CLI11.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "app/cli_grammar.hpp"
#include "app/commands.hpp"

namespace tiffany::app {
namespace {

// CLI11 takes "[a,b]" and "{}" for lists. JSON is given to it behind a mark that no word has.
constexpr char kMark = '\x01';

std::string marked(std::string word) {
  if (word.starts_with('[') || word.starts_with('{')) word.insert(word.begin(), kMark);
  return word;
}
std::vector<std::string> unmarked(std::vector<std::string> words) {
  for (std::string& word : words) {
    if (!word.empty() && word.front() == kMark) word.erase(0, 1);
  }
  return words;
}

using Store = std::map<std::string, std::vector<std::string>, std::less<>>;

void add_cli_option(CLI::App& to, const CliOption& option, Store& store) {
  const std::string name = option.name();
  if (option.value.empty()) {
    to.add_flag_callback(option.flags, [&store, name] { store[name] = {"true"}; });
    return;
  }
  auto* const added = to.add_option_function<std::vector<std::string>>(
      option.flags,
      [&store, name](const std::vector<std::string>& given) { store[name] = unmarked(given); });
  added->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_cli_word(CLI::App& to, const CliWord& word, Store& store) {
  auto* const added = to.add_option_function<std::vector<std::string>>(
      word.name, [&store, name = word.name](const std::vector<std::string>& given) {
        store[name] = unmarked(given);
      });
  constexpr int kMost = 10'000;
  switch (word.count) {
    case Count::one:
      added->expected(1)->allow_extra_args(false)->required();
      break;
    case Count::maybe:
      added->expected(1)->allow_extra_args(false);
      break;
    case Count::any:
      added->expected(1, kMost);
      break;
    case Count::some:
      added->expected(1, kMost)->required();
      break;
  }
}

// "schedule create" below "schedule", which is made when it is not there.
CLI::App& command_at(CLI::App& root, const std::string& path) {
  CLI::App* at = &root;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find(' ', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    CLI::App* next = nullptr;
    for (CLI::App* each : at->get_subcommands([](CLI::App*) { return true; })) {
      if (each->get_name() == name) next = each;
    }
    if (next == nullptr) {
      next = at->add_subcommand(name);
      next->set_help_flag();
      next->fallthrough();
      at->require_subcommand(0, 1);
    }
    at = next;
    begin = end + 1;
  }
  return *at;
}

std::string path_of(const CLI::App& root) {
  std::string path;
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  return path;
}

std::string why_not(const CLI::App& root, const CLI::ParseError& error) {
  const std::string path = path_of(root);
  std::string why = error.what();
  std::erase(why, kMark);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return why;
  // "The following argument was not expected: dance", or arguments, with blanks between them.
  const std::size_t colon = why.find(": ");
  if (colon == std::string::npos) return why;
  const std::string words = why.substr(colon + 2);
  const std::string word = words.substr(0, words.find(' '));
  const bool option = word.starts_with('-');
  if (path.empty() && !option) return "There is no command \"" + word + "\"";
  const std::string of = path.empty() ? "" : " of \"" + path + "\"";
  return option ? "There is no option " + word + of : "\"" + word + "\" is a word too many" + of;
}

void require_choices(std::span<const CliOption> options, const Store& store,
                     const std::string& of) {
  for (const CliOption& option : options) {
    const auto found = store.find(option.name());
    if (option.choices.empty() || found == store.end()) continue;
    for (const std::string& value : found->second) {
      if (std::ranges::find(option.choices, value) != option.choices.end()) continue;
      std::string all;
      for (const std::string& each : option.choices) all += (all.empty() ? "" : ", ") + each;
      throw Refused{option.name() + " is \"" + value + "\", and is one of " + all, of};
    }
  }
}

}  // namespace

Given parse_words(const std::string& program, int count, char** words) {
  Given given;
  CLI::App root(program, program);
  root.set_help_flag();
  root.require_subcommand(0, 1);
  bool help = false;
  root.add_flag_callback("-h,--help", [&help] { help = true; });
  for (const CliOption& option : global_options()) add_cli_option(root, option, given.values);
  for (const Verb& verb : verbs()) {
    CLI::App& command = command_at(root, verb.path);
    for (const CliOption& option : verb.options) add_cli_option(command, option, given.values);
    for (const CliWord& word : verb.words) add_cli_word(command, word, given.values);
  }
  // Words that are missing are no mistake of someone who asks for help.
  std::vector<std::string> all;
  for (int i = 1; i < count; ++i) all.push_back(marked(words[i]));
  const auto asks = [](const std::string& word) { return word == "-h" || word == "--help"; };
  const auto end = std::ranges::find(all, std::string("--"));
  if (std::find_if(all.begin(), end, asks) != end) {
    given.help = true;
    for (const std::string& word : all) {
      if (word.starts_with('-')) continue;
      const std::string longer = given.help_of + (given.help_of.empty() ? "" : " ") + word;
      const bool known = std::ranges::any_of(
          verbs(), [&](const Verb& verb) { return (verb.path + " ").starts_with(longer + " "); });
      if (!known) break;
      given.help_of = longer;
    }
    return given;
  }
  std::ranges::reverse(all);  // as CLI11 wants them
  try {
    root.parse(std::move(all));
  } catch (const CLI::ParseError& error) {
    throw Refused{why_not(root, error), path_of(root)};
  }
  const std::string path = path_of(root);
  for (const Verb& verb : verbs()) {
    if (verb.path == path) given.verb = &verb;
  }
  if (given.verb == nullptr) {
    if (path.empty()) throw Refused{"A command is missing"};
    throw Refused{"\"" + path + "\" is the beginning of several commands", path};
  }
  require_choices(global_options(), given.values, "");
  require_choices(given.verb->options, given.values, path);
  return given;
}

std::string Given::text(std::string_view name, std::string_view fallback) const {
  const auto found = values.find(name);
  if (found == values.end() || found->second.empty()) return std::string(fallback);
  return found->second.back();
}
const std::vector<std::string>& Given::all(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values.find(name);
  return found == values.end() ? kNone : found->second;
}

}  // namespace tiffany::app
