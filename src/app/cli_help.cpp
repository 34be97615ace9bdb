// Texts about the table of commands: help, the manual page, the page of the documentation.
#include <algorithm>

#include "app/cli_grammar.hpp"
#include "app/commands.hpp"

namespace tiffany::app {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text += std::string(width - text.size(), ' ');
  return text;
}

// A text behind `indent` blanks, broken between words where a terminal of that width ends. The
// first line has `used` columns already. A width of 0: it is never broken.
std::string wrapped(std::string_view text, std::size_t used, std::size_t indent,
                    std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool first = out.empty();
    if (!first && columns != 0 && used + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out + "\n";
}

// What something is called, and what it means: in two columns, or below each other where the second
// would be narrow.
std::string entry(const std::string& name, const std::string& meaning, std::size_t width,
                  std::size_t columns) {
  constexpr std::size_t kLeast = 30;
  const bool narrow = columns != 0 && columns < width + kLeast;
  const std::size_t indent = narrow ? 6 : width;
  const std::string left = "  " + name;
  if (!narrow && left.size() < width) {
    return padded(left, width) + wrapped(meaning, width, indent, columns);
  }
  return left + "\n" + std::string(indent, ' ') + wrapped(meaning, indent, indent, columns);
}

std::string option_text(const CliOption& option) {
  std::string flags = option.flags;
  if (const std::size_t comma = flags.find(','); comma != std::string::npos) {
    flags.replace(comma, 1, ", ");
  }
  return flags + (option.value.empty() ? "" : " " + option.value);
}

std::vector<std::string> groups() {
  std::vector<std::string> all;
  for (const Verb& verb : verbs()) {
    if (std::ranges::find(all, verb.group) == all.end()) all.push_back(verb.group);
  }
  return all;
}

constexpr std::size_t kFlags = 28;

void add_options(std::string& out, std::span<const CliOption> options, std::size_t columns) {
  for (const CliOption& option : options) {
    out += entry(option_text(option), option.meaning, kFlags, columns);
  }
}

std::string help_of_verb(const std::string& program, const Verb& verb, std::size_t columns) {
  std::string out = wrapped("usage: " + program + " " + synopsis_of(verb), 0, 7, columns) + "\n" +
                    wrapped(verb.summary, 0, 0, columns);
  if (!verb.words.empty()) out += "\n";
  for (const CliWord& word : verb.words) out += entry(word.name, word.meaning, kFlags, columns);
  if (!verb.options.empty()) out += "\nOptions:\n";
  add_options(out, verb.options, columns);
  return out + "\nOptions of every command: `" + program + " help`.\n";
}

// In roff, a line must not begin with a dot, and a backslash is one of its own.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '.' && out.empty()) {
      out += "\\&.";
    } else if (c == '\'' && out.empty()) {
      out += "\\&'";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(const std::string& text) {
  std::string out;
  for (const char c : text) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

struct End {
  int status;
  std::string_view meaning;
};
constexpr End kEnds[] = {
    {0, "done; of a command that waits: the task completed"},
    {1, "the task failed, or something else went wrong"},
    {2, "the command was not understood"},
    {3, "no daemon answers, it is starting or ending, or the stream was lost and not found again"},
    {4, "no such task, promise or name, or the beginning of an id that several have"},
    {5, "--timeout is over, or there is no result yet; the task goes on"},
    {6, "a person has to decide, and there is no terminal to ask on"},
    {7, "the task failed because a person rejected something"},
    {8, "the task was cancelled"},
    {9, "the task failed by a mistake in its code: std::logic_error, std::bad_alloc and the like"},
    {10, "the code does not do what the log says"},
    {11, "tasks wait for one another in a circle"},
    {12, "the log of the task, or the log, is damaged"},
    {130, "interrupted: detached, and the task goes on"},
};

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string synopsis_of(const Verb& verb) {
  std::string text = verb.path;
  if (!verb.options.empty()) text += " [options]";
  for (const CliWord& word : verb.words) {
    switch (word.count) {
      case Count::one:
        text += " " + word.name;
        break;
      case Count::maybe:
        text += " [" + word.name + "]";
        break;
      case Count::any:
        text += " [" + word.name + "...]";
        break;
      case Count::some:
        text += " " + word.name + "...";
        break;
    }
  }
  return text;
}

std::string help_text(const std::string& program, const std::string& of, std::size_t columns) {
  constexpr std::size_t kCommands = 37;
  for (const Verb& verb : verbs()) {
    if (!of.empty() && verb.path == of) return help_of_verb(program, verb, columns);
  }
  std::string out = "usage: " + program + " [options] COMMAND ...\n";
  bool any = false;
  for (const std::string& group : groups()) {
    std::string lines;
    for (const Verb& verb : verbs()) {
      const bool wanted = of.empty() || verb.path.starts_with(of + " ");
      if (verb.group != group || verb.hidden || !wanted) continue;
      lines +=
          entry(synopsis_of({verb.path, "", "", verb.words, {}}), verb.summary, kCommands, columns);
    }
    if (lines.empty()) continue;
    any = true;
    out += "\n" + group + ":\n" + lines;
  }
  if (!any) throw Refused{"There is no command \"" + of + "\""};
  out += "\nOptions of every command:\n";
  add_options(out, global_options(), columns);
  out += "\n`" + program + " help COMMAND` says more about a command.\n";
  return out;
}

std::string man_page(const std::string& program, const std::string& version) {
  std::string out = ".TH " + upper(program) + " 1 \"\" \"" + program + " " + version + "\"\n";
  out += ".SH NAME\n" + roff(program) + " \\- durable tasks: the daemon and its command line\n";
  out += ".SH SYNOPSIS\n.B " + roff(program) + "\n[options] COMMAND ...\n";
  const auto add = [&](std::span<const CliOption> options) {
    for (const CliOption& option : options) {
      out += ".TP\n.B " + roff(option_text(option)) + "\n" + roff(option.meaning) + "\n";
    }
  };
  out += ".SH OPTIONS OF EVERY COMMAND\n";
  add(global_options());
  for (const std::string& group : groups()) {
    out += ".SH " + upper(group) + "\n";
    for (const Verb& verb : verbs()) {
      if (verb.group != group || verb.hidden) continue;
      out += ".SS " + roff(synopsis_of(verb)) + "\n" + roff(verb.summary) + "\n";
      for (const CliWord& word : verb.words) {
        out += ".TP\n.I " + roff(word.name) + "\n" + roff(word.meaning) + "\n";
      }
      add(verb.options);
    }
  }
  out += ".SH EXIT STATUS\n";
  for (const End& end : kEnds) {
    out += ".TP\n.B " + std::to_string(end.status) + "\n" + roff(std::string(end.meaning)) + "\n";
  }
  out += ".SH ENVIRONMENT\n";
  out += ".TP\n.B TIFFANY_SOCKET\nunix socket of the daemon\n";
  out += ".TP\n.B TIFFANY_TOKEN\ntoken for \\-\\-host\n";
  out += ".TP\n.B NO_COLOR, CLICOLOR_FORCE\nwhether to colour\n";
  return out;
}

std::string reference_page(const std::string& program) {
  std::string out = "### Options of every command\n\n| option | meaning |\n|---|---|\n";
  const auto add = [&](std::span<const CliOption> options) {
    for (const CliOption& option : options) {
      out += "| `" + markdown_cell(option_text(option)) + "` | " + markdown_cell(option.meaning) +
             " |\n";
    }
  };
  add(global_options());
  for (const std::string& group : groups()) {
    out += "\n### " + group + "\n";
    for (const Verb& verb : verbs()) {
      if (verb.group != group || verb.hidden) continue;
      out += "\n`" + program + " " + synopsis_of(verb) + "`\n: " + verb.summary + "\n";
      if (verb.options.empty() && verb.words.empty()) continue;
      out += "\n| word or option | meaning |\n|---|---|\n";
      for (const CliWord& word : verb.words) {
        out += "| `" + word.name + "` | " + markdown_cell(word.meaning) + " |\n";
      }
      add(verb.options);
    }
  }
  out += "\n### Exit statuses\n\n| status | meaning |\n|---|---|\n";
  for (const End& end : kEnds) {
    out += "| " + std::to_string(end.status) + " | " + std::string(end.meaning) + " |\n";
  }
  return out;
}

}  // namespace tiffany::app
