#include "agent/manifest_words.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/manifest.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kLongestWord = std::size_t{128} << 10;  // Linux takes no longer ones

struct WordPiece {
  std::string text;
  bool argument = false;  // `text` is the name of one
};
struct WordTemplate {
  std::vector<WordPiece> pieces;
  std::string mistake;
  bool has_argument() const {
    return std::any_of(pieces.begin(), pieces.end(),
                       [](const auto& each) { return each.argument; });
  }
};

WordTemplate template_of(std::string_view word) {
  WordTemplate made;
  std::string plain;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const char c = word[at];
    if ((c == '{' || c == '}') && at + 1 < word.size() && word[at + 1] == c) {
      plain += c;
      ++at;
    } else if (c == '{') {
      const std::size_t end = word.find('}', at);
      if (end == std::string_view::npos || end == at + 1) {
        made.mistake = "has a '{' that begins no placeholder; a brace is written '{{'";
        return made;
      }
      if (!plain.empty()) made.pieces.push_back({std::exchange(plain, {}), false});
      made.pieces.push_back({std::string(word.substr(at + 1, end - at - 1)), true});
      at = end;
    } else if (c == '}') {
      made.mistake = "has a '}' that ends no placeholder; a brace is written '}}'";
      return made;
    } else {
      plain += c;
    }
  }
  if (!plain.empty()) made.pieces.push_back({std::move(plain), false});
  return made;
}

bool is_shell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "dash" || name == "zsh" || name == "ksh" ||
         name == "ash" || name == "fish" || name == "busybox";
}

// Scalars by their names, as the text that stands in a word.
std::map<std::string, std::string, std::less<>> values_of(std::string_view arguments) {
  std::map<std::string, std::string, std::less<>> values;
  JsonReader in(arguments);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    switch (in.kind()) {
      case JsonKind::string:
        values[name] = in.string();
        break;
      case JsonKind::number:
      case JsonKind::boolean:
        values[name] = in.raw();
        break;
      default:
        in.raw();  // null: as if it were not there
    }
  }
  return values;
}

[[noreturn]] void refuse_value(const std::string& name, const std::string& why) {
  throw Error(Errc::bad_tool, "/" + detail::shown(name) + ": " + why);
}

}  // namespace

void note_words(const std::vector<std::string>& argv, const Schema& input,
                std::vector<std::string>& why) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string place = "/argv/" + std::to_string(i) + ": ";
    const WordTemplate word = template_of(argv[i]);
    if (!word.mistake.empty()) {
      why.push_back(place + "the word " + word.mistake + ".");
      continue;
    }
    // A writer of JSON mends what is no UTF-8, and two manifests would have one digest.
    if (argv[i].find('\0') != std::string::npos || !detail::is_utf8(argv[i])) {
      why.push_back(place + "the word has a zero byte, or is not valid UTF-8.");
    }
    if (i == 0 && (argv[0].empty() || word.has_argument())) {
      why.push_back(place + "the program is named by the manifest, and not by an argument.");
    }
    if (i > 0 && word.has_argument() && is_shell(argv[0]) && argv[i - 1].starts_with("-") &&
        !argv[i - 1].starts_with("--") && argv[i - 1].find('c') != std::string::npos) {
      why.push_back(place +
                    "the shell would run what an argument has in it. Write \"$1\" in the script, "
                    "and give the argument as a word behind it.");
    }
    for (const WordPiece& piece : word.pieces) {
      if (piece.argument && !input.is_scalar(piece.text)) {
        why.push_back(place + "{" + detail::shown(piece.text.substr(0, 80)) +
                      "} is no property of the input that is a string, a number or a boolean.");
      }
    }
  }
}

std::vector<std::string> words_for(const Manifest& manifest, std::string_view arguments) {
  std::string mistakes;
  for (const std::string& each : check_against(manifest.input, arguments)) {
    mistakes += (mistakes.empty() ? "" : " ") + each;
  }
  if (!mistakes.empty()) {
    throw Error(Errc::bad_tool, "The arguments of " + manifest.name + " do not fit: " + mistakes);
  }
  const auto values = values_of(arguments);
  std::vector<std::string> words;
  bool options = true;  // no "--" yet
  for (const std::string& each : manifest.argv) {
    const WordTemplate made = template_of(each);
    std::string word;
    bool complete = true;
    for (const WordPiece& piece : made.pieces) {
      if (!piece.argument) {
        word += piece.text;
        continue;
      }
      const auto value = values.find(piece.text);
      if (value == values.end()) {
        complete = false;
        break;
      }
      if (value->second.find('\0') != std::string::npos) {
        refuse_value(piece.text, "the text has a zero byte, which no word can have.");
      }
      if (options && word.empty() && value->second.starts_with('-')) {
        refuse_value(piece.text, "the value begins with '-', and would be taken for an option of " +
                                     manifest.argv.front() + ".");
      }
      word += value->second;
      if (word.size() > kLongestWord) refuse_value(piece.text, "the value is longer than 128 KiB.");
    }
    if (!complete) continue;
    if (each == "--") options = false;
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace tiffany::agent
