// The command line of an App.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "app/daemon.hpp"
#include "tiffany/app/app.hpp"
#include "tiffany/app/command_line.hpp"
#include "tiffany/engine/run.hpp"

namespace tiffany {
namespace {

using Given = std::map<std::string, std::string, std::less<>>;

// `--data DIR` and `--data=DIR`, for every setting. Throws Errc::bad_argument.
Given settings_of_words(int count, char** words) {
  Given given;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    const std::string_view flag = word.substr(0, equals);
    const auto all = app::all_settings();
    const auto found =
        std::ranges::find_if(all, [&](const app::Setting& each) { return each.flag() == flag; });
    if (found == all.end()) {
      throw Error(Errc::bad_argument,
                  "there is no option " + std::string(word) + "; `config` prints all settings");
    }
    if (equals != std::string_view::npos) {
      given[std::string(found->name)] = word.substr(equals + 1);
    } else if (++i < count) {
      given[std::string(found->name)] = words[i];
    } else {
      throw Error(Errc::bad_argument, std::string(word) + " needs a value");
    }
  }
  return given;
}

}  // namespace

int App::main(int count, char** arguments) {
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first != "serve" && first != "config") {
    return durable_main(count, arguments, types(), codec());
  }
  app::Settings settings;
  try {
    settings = app::Settings::read(settings_of_words(count, arguments));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name().c_str(), error.what());
    return 2;
  }
  if (first == "config") {
    std::fputs(settings.table().c_str(), stdout);
    return 0;
  }
  return run(app::serve(*this, std::move(settings)));
}

}  // namespace tiffany
