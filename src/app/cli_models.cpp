#include "app/cli_models.hpp"

#include <optional>

#include "app/small_files.hpp"
#include "tiffany/agent/plan_file.hpp"
#include "tiffany/agent/router.hpp"
#include "tiffany/agent/script.hpp"

namespace tiffany::app {

std::string file_of(const Given& given, const char* option) {
  constexpr std::size_t kLongest = std::size_t{16} << 20;
  if (!given.has(option)) return "";
  const std::string path = given.text(option);
  std::string problem = "There is no file " + path + ".";
  try {
    if (std::optional<std::string> text = read_small_file(path, kLongest)) return *text;
  } catch (const Error& error) {
    problem = error.what();
  }
  throw CliFailure{ends::kUsage, problem};
}

std::string script_of(const Given& given) {
  std::string text = file_of(given, "--script");
  if (!given.has("--script")) return text;
  std::string problem;
  try {
    static_cast<void>(agent::Script::parse(text, given.text("--script")));
    return text;
  } catch (const Error& error) {
    problem = error.what();
  }
  throw CliFailure{ends::kUsage, problem};
}

Task<std::unique_ptr<agent::Model>> model_of(const Given& given) {
  if (given.has("--script") == given.has("--models")) {
    throw CliFailure{ends::kUsage, "Say --script FILE or --models FILE: whom to ask."};
  }
  if (given.has("--script")) {
    co_return std::make_unique<agent::PlanFile>(agent::Script::parse(script_of(given)));
  }
  std::string problem;
  try {
    co_return co_await agent::read_models(given.text("--models"));
  } catch (const Error& error) {
    problem = error.what();
  }
  throw CliFailure{ends::kUsage, problem};
}

}  // namespace tiffany::app
