#include "tiffany/agent/file_tools.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/file_calls.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::agent {
namespace {

struct FileTool {
  std::string_view name;
  std::string_view about;
  std::string_view schema;
  bool writes;
  std::string (*run)(Canvas& canvas, std::string_view arguments);
};

// Pieces of schemas. Members that need not be there may be null: models write that.
#define TIFFANY_PATH R"("path":{"type":"string","description":"from the root of the repository"})"
#define TIFFANY_DIRECTORY \
  R"("path":{"type":["string","null"],"description":"a directory; without it the root"})"
#define TIFFANY_SCHEMA(properties, required)                                   \
  R"({"type":"object","properties":{)" properties R"(},"required":[)" required \
  R"(],"additionalProperties":false})"

constexpr FileTool kFileTools[] = {
    {"edit",
     "Replaces one text in a file by another. old_text must be in the file exactly once, with the "
     "same blanks and line ends, and without line numbers.",
     TIFFANY_SCHEMA(TIFFANY_PATH
                    R"(,"old_text":{"type":"string","minLength":1},"new_text":{"type":"string"})",
                    R"("path","old_text","new_text")"),
     true, edit_file},
    {"git_diff",
     "Shows what is changed so far as a unified diff; with a path only the changes in that file or "
     "directory.",
     TIFFANY_SCHEMA(R"("path":{"type":["string","null"],"description":"a file or a directory"})",
                    ""),
     false, show_diff},
    {"git_log",
     "Lists the commits that the work is based on, the newest first: id, date, author, subject. "
     "With a path those that changed it.",
     TIFFANY_SCHEMA(R"("path":{"type":["string","null"],"description":"a file or a directory"})"
                    R"(,"count":{"type":["integer","null"],"minimum":1,"maximum":200})",
                    ""),
     false, show_log},
    {"git_status", "Lists the files that are changed so far, with the lines added and removed.",
     TIFFANY_SCHEMA("", ""), false, show_status},
    {"list",
     "Lists a directory; directories end with a slash. With a pattern it lists all files below the "
     "directory whose paths match: * and ? within a name, ** over directories.",
     TIFFANY_SCHEMA(
         TIFFANY_DIRECTORY
         R"(,"pattern":{"type":["string","null"],"description":"as *.cpp or src/**/*.hpp"})",
         ""),
     false, list_files},
    {"read",
     "Reads a text file, with the number of each line before it. Long files are read in pieces: "
     "`from` is the first line, `lines` how many, at most 2000.",
     TIFFANY_SCHEMA(TIFFANY_PATH
                    R"(,"from":{"type":["integer","null"],"minimum":1,"maximum":1000000000})"
                    R"(,"lines":{"type":["integer","null"],"minimum":1,"maximum":2000})",
                    R"("path")"),
     false, read_lines},
    {"remove", "Removes a file.", TIFFANY_SCHEMA(TIFFANY_PATH, R"("path")"), true, remove_file},
    {"rename", "Gives a file another path. There must be no file at that path: remove it first.",
     TIFFANY_SCHEMA(R"("from":{"type":"string"},"to":{"type":"string"})", R"("from","to")"), true,
     rename_file},
    {"search",
     "Finds the lines that have a text, as path:line: text. With regex the text is a regular "
     "expression for one line: classes, groups, alternatives, repetitions, ^ $ \\b \\d \\w \\s.",
     TIFFANY_SCHEMA(R"("text":{"type":"string","minLength":1},)" TIFFANY_DIRECTORY
                    R"(,"regex":{"type":["boolean","null"]})"
                    R"(,"ignore_case":{"type":["boolean","null"]},"pattern":{"type":)"
                    R"(["string","null"],"description":"only files that match, as *.cpp"})",
                    R"("text")"),
     false, search_files},
    {"write", "Writes a whole file, new or in the place of the old one.",
     TIFFANY_SCHEMA(TIFFANY_PATH
                    R"(,"text":{"type":"string"},"executable":{"type":["boolean","null"]})",
                    R"("path","text")"),
     true, write_whole},
};
#undef TIFFANY_PATH
#undef TIFFANY_DIRECTORY
#undef TIFFANY_SCHEMA

const FileTool* find_file_tool(std::string_view name) noexcept {
  const auto* const found = std::find_if(std::begin(kFileTools), std::end(kFileTools),
                                         [&](const FileTool& each) { return each.name == name; });
  return found == std::end(kFileTools) ? nullptr : found;
}

// Empty: they fit.
std::string mistake_in_arguments(const FileTool& tool, std::string_view arguments) {
  std::string all;
  for (const std::string& each : check_against(tool.schema, arguments)) {
    all += (all.empty() ? "" : " ") + each;
  }
  if (all.empty()) return all;
  return "The arguments of " + std::string(tool.name) + " do not fit: " + all;
}

class FileToolOfAgent final : public Tool {
 public:
  explicit FileToolOfAgent(const FileTool& tool) : tool_(tool) {
    offer_.name = tool.name;
    offer_.about = tool.about;
    offer_.schema = tool.schema;
    // The repository is what the agent was asked to work on; its files may have been written by
    // anybody.
    traits_.untrusted = true;
    traits_.concurrent = !tool.writes;
    traits_.pin = sha256_hex(to_json(offer_));
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    return mistake_in_arguments(tool_, arguments);
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    const FileTool* const tool = &tool_;
    const auto call = [](const FileTool* of, ToolContext at, std::string with) {
      return run_there(*of, at, with);
    };
    co_return co_await offload(call, tool, std::move(where), std::move(arguments));
  }

 private:
  static ToolAnswer run_there(const FileTool& tool, const ToolContext& where,
                              const std::string& arguments) {
    ToolAnswer answer;
    answer.canvas = where.canvas;
    try {
      if (where.repository.empty()) {
        throw Error(Errc::bad_tool, "There is no repository, and so there are no files.");
      }
      Canvas canvas = Canvas::reopen(where.repository, where.canvas);
      answer.text = run_file_tool(canvas, tool.name, arguments);
      if (tool.writes) answer.canvas = canvas.keep(where.task.text());
    } catch (const Error& error) {
      if (error.code() != Errc::bad_tool) throw;
      answer.text = error.what();
      answer.failed = true;
    }
    return answer;
  }

  const FileTool& tool_;
  ToolOffer offer_;
  ToolTraits traits_;
};

}  // namespace

std::vector<ToolOffer> file_tool_offers() {
  std::vector<ToolOffer> offers;
  for (const FileTool& each : kFileTools) {
    offers.push_back({std::string(each.name), std::string(each.about), std::string(each.schema)});
  }
  return offers;
}

bool file_tool_writes(std::string_view name) noexcept {
  const FileTool* const tool = find_file_tool(name);
  return tool != nullptr && tool->writes;
}

std::string run_file_tool(Canvas& canvas, std::string_view name, std::string_view arguments) {
  const FileTool* const tool = find_file_tool(name);
  if (tool == nullptr) {
    throw Error(
        Errc::bad_tool,
        "There is no file tool of that name. There are edit, git_diff, git_log, git_status, "
        "list, read, remove, rename, search and write.");
  }
  if (std::string mistake = mistake_in_arguments(*tool, arguments); !mistake.empty()) {
    throw Error(Errc::bad_tool, mistake);
  }
  try {
    return tool->run(canvas, arguments);
  } catch (const Error& error) {
    // What the model asked for cannot be done: other errors are those of the repository.
    const bool asked = error.code() == Errc::bad_argument ||
                       error.code() == Errc::canvas_conflict || error.code() == Errc::bad_json;
    if (!asked) throw;
    throw Error(Errc::bad_tool, error.what());
  }
}

void add_file_tools(ToolSet& tools) {
  for (const FileTool& each : kFileTools) tools.add(std::make_shared<FileToolOfAgent>(each));
}

}  // namespace tiffany::agent
