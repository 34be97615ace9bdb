// Completion of words in shells: the scripts, and __complete, which they call for each word.
#include <algorithm>
#include <optional>
#include <set>

#include "app/cli.hpp"
#include "app/commands.hpp"
#include "serve/comma_list.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

constexpr std::string_view kBash = R"sh(# bash: eval "$(PROGRAM completion bash)"
_PROGRAM_complete() {
  local IFS=$'\n' line
  COMPREPLY=()
  for line in $("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [[ $line == :file ]]; then
      compopt -o default
      return
    fi
    COMPREPLY+=("${line%%$'\t'*}")
  done
}
complete -F _PROGRAM_complete PROGRAM
)sh";
constexpr std::string_view kZsh = R"sh(#compdef PROGRAM
# zsh: eval "$(PROGRAM completion zsh)", or this as _PROGRAM in a directory of $fpath
_PROGRAM() {
  local -a lines names texts
  local line
  lines=("${(@f)$(${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == :file ]]; then
      _files
      return
    fi
    names+=("${line%%$'\t'*}")
    texts+=("${line/$'\t'/  }")
  done
  compadd -l -d texts -a names
}
if [[ $funcstack[1] == _PROGRAM ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
)sh";
constexpr std::string_view kFish = R"sh(# fish: PROGRAM completion fish | source
function __PROGRAM_complete
  set -l words (commandline -opc)
  set -l now (commandline -ct)
  for line in ($words[1] __complete -- $words[2..-1] "$now" 2>/dev/null)
    if test "$line" = :file
      __fish_complete_path "$now"
      return
    end
    echo $line
  end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
)sh";

const CliOption* option_named(std::span<const CliOption> options, std::string_view word) {
  for (const CliOption& option : options) {
    bool named = false;
    for_each_listed(option.flags, [&](std::string_view flag) { named |= flag == word; });
    if (named) return &option;
  }
  return nullptr;
}

const Verb* verb_at(const std::string& path) {
  for (const Verb& verb : verbs()) {
    if (verb.path == path) return &verb;
  }
  return nullptr;
}
bool begins_a_verb(const std::string& path) {
  return std::ranges::any_of(
      verbs(), [&](const Verb& verb) { return (verb.path + " ").starts_with(path + " "); });
}

// Where the word that is completed stands.
struct Place {
  std::string path;                   // of the verb, as far as it is there
  const Verb* verb = nullptr;         // when that is a whole one
  const CliOption* option = nullptr;  // whose value it is
  std::size_t words = 0;              // of the verb, before it
  std::string now;
};

Place place_of(const std::vector<std::string>& words) {
  Place place;
  if (words.empty()) return place;
  place.now = words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with('-') && word.size() > 1) {
      const CliOption* option = option_named(global_options(), word);
      if (place.verb != nullptr) {
        if (const CliOption* own = option_named(place.verb->options, word)) option = own;
      }
      if (option != nullptr && !option->value.empty()) {
        if (i + 2 == words.size()) place.option = option;
        ++i;
      }
      continue;
    }
    const std::string longer = place.path + (place.path.empty() ? "" : " ") + word;
    if (place.verb == nullptr && begins_a_verb(longer)) {
      place.path = longer;
      place.verb = verb_at(longer);
    } else {
      ++place.words;
    }
  }
  return place;
}

struct Offer {
  std::string word;
  std::string meaning;
};

std::vector<Offer> next_verbs(const Place& place) {
  std::vector<Offer> offers;
  std::set<std::string> seen;
  const std::string before = place.path.empty() ? "" : place.path + " ";
  for (const Verb& verb : verbs()) {
    if (verb.hidden || !verb.path.starts_with(before)) continue;
    const std::string rest = verb.path.substr(before.size());
    const std::string word = rest.substr(0, rest.find(' '));
    if (!seen.insert(word).second) continue;
    offers.push_back({word, rest == word ? verb.summary : ""});
  }
  return offers;
}

struct Source {
  Fill fill;
  const char* path;
  const char* list;
  const char* word;
  const char* meaning[2];
};
constexpr Source kSources[] = {
    {Fill::task, "/tasks?limit=200", "tasks", "id", {"type", "status"}},
    {Fill::promise, "/promises?limit=200", "promises", "task", {"type", "name"}},
    {Fill::schedule, "/schedules", "schedules", "name", {"", ""}},
    {Fill::type, "/types", "types", "name", {"", ""}},
    {Fill::token, "/tokens", "tokens", "name", {"role", ""}},
};

std::vector<Offer> offers_in(const Json& answer, const Source& source) {
  std::vector<Offer> offers;
  for (const Json& each : answer[source.list].elements()) {
    std::string meaning = each[source.meaning[0]].text();
    const std::string& more = each[source.meaning[1]].text();
    if (!more.empty()) meaning += ", " + more;
    offers.push_back({each[source.word].text(), meaning});
  }
  return offers;
}

Task<std::vector<Offer>> live_offers(Cli& cli, Fill fill) {
  for (const Source& source : kSources) {
    if (source.fill != fill) continue;
    const Json answer = co_await cli.client.get(source.path);
    co_return offers_in(answer, source);
  }
  co_return std::vector<Offer>();
}

std::vector<Offer> options_at(const Place& place) {
  std::vector<Offer> offers;
  std::vector<CliOption> all(global_options().begin(), global_options().end());
  if (place.verb != nullptr) {
    all.insert(all.begin(), place.verb->options.begin(), place.verb->options.end());
  }
  for (const CliOption& option : all) offers.push_back({option.name(), option.meaning});
  return offers;
}

std::vector<Offer> values_of(const CliOption& option) {
  std::vector<Offer> offers;
  for (const std::string& choice : option.choices) offers.push_back({choice, ""});
  const std::string& value = option.value;
  if (value == "FILE" || value == "PATH" || value == "DIR" || value == "DATA") {
    offers.push_back({":file", ""});
  }
  return offers;
}

// What the word that stands there is filled with.
Fill fill_at(const Place& place) {
  const std::vector<CliWord>& words = place.verb->words;
  if (words.empty()) return Fill::nothing;
  const CliWord& word = words[std::min(place.words, words.size() - 1)];
  const bool repeats = word.count == Count::any || word.count == Count::some;
  return place.words >= words.size() && !repeats ? Fill::nothing : word.fill;
}

// Without the daemon; nothing when it has to be asked.
std::optional<std::vector<Offer>> known_offers(const Place& place) {
  using Offers = std::vector<Offer>;
  if (place.option != nullptr) return values_of(*place.option);
  if (place.now.starts_with('-')) return options_at(place);
  if (place.verb == nullptr) return next_verbs(place);
  if (place.verb->path == "completion") return Offers{{"bash", ""}, {"zsh", ""}, {"fish", ""}};
  const Fill fill = fill_at(place);
  if (fill == Fill::nothing) return Offers();
  if (fill == Fill::file) return Offers{{":file", ""}};
  if (fill == Fill::verb) return next_verbs(Place());
  return std::nullopt;
}

Task<std::vector<Offer>> offers_at(Cli& cli, const Place& place) {
  std::optional<std::vector<Offer>> known = known_offers(place);
  if (known) co_return std::move(*known);
  co_return co_await live_offers(cli, fill_at(place));
}

}  // namespace

std::string completion_script(const std::string& program, const std::string& shell) {
  std::string text(shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "");
  if (text.empty()) throw Refused{"There is completion for bash, zsh and fish, not for " + shell};
  const std::string_view mark = "PROGRAM";
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += program.size()) {
    text.replace(at, mark.size(), program);
  }
  return text;
}

// A shell waits for this: what a daemon does not say at once is not offered.
Task<int> complete_words(Cli& cli) {
  constexpr auto kLongest = std::chrono::milliseconds(200);
  const Place place = place_of(cli.given.all("WORD"));
  std::vector<Offer> offers;
  try {
    auto found = co_await within(kLongest, offers_at(cli, place));
    if (!found.timed_out()) offers = std::move(found).value();
  } catch (const CliFailure&) {
    // No daemon: nothing is offered, and a shell has no place for a sentence.
  }
  for (const Offer& offer : offers) {
    if (offer.word != ":file" && !offer.word.starts_with(place.now)) continue;
    cli.out.text(offer.word);
    if (!offer.meaning.empty()) cli.out.raw("\t");
    cli.out.text(offer.meaning + "\n");
  }
  co_return ends::kDone;
}

Given given_of_completion(int count, char** words) {
  Given given;
  given.verb = verb_at("__complete");
  std::vector<std::string>& all = given.values["WORD"];
  for (int i = 2; i < count; ++i) {
    if (i > 2 || std::string_view(words[i]) != "--") all.emplace_back(words[i]);
  }
  // Where the daemon is, as far as it was typed.
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    for (const char* name : {"--socket", "--host", "--token-file", "--ca"}) {
      if (all[i] == name) given.values[name] = {all[i + 1]};
    }
  }
  return given;
}

}  // namespace tiffany::app
