// The program `tiffany-scripted-model`: a model endpoint that says what a script says, for tests of
// agents and of other clients. The format is that of include/tiffany/agent/script.hpp.
//
//   tiffany-scripted-model fix.json                    any free port of 127.0.0.1
//   tiffany-scripted-model fix.json 127.0.0.1:8080
//
// Prints the URL that clients are given, and serves until SIGINT or SIGTERM.
#include <csignal>
#include <cstdio>
#include <string>

#include "tiffany/agent/plan_file.hpp"
#include "tiffany/agent/scripted_model.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using namespace tiffany;

Task<void> serve_model(agent::ScriptedModel* model, Listener* listener) {
  co_await model->serve(*listener);
}

Task<int> program(std::string file, std::string where) {
  agent::ScriptedModel model(co_await agent::read_script(file));
  Listener listener = Listener::bind(Address::parse(where));
  Signals signals({SIGINT, SIGTERM});
  std::printf("http://%s/v1\n", listener.local().text().c_str());
  std::fflush(stdout);
  auto serving = spawn(serve_model, &model, &listener);
  co_await signals.next();
  serving.cancel("the program was asked to end");
  (void)co_await serving.outcome();
  co_return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3 || arguments[1][0] == '-') {
    std::fprintf(stderr, "usage: tiffany-scripted-model SCRIPT [ADDRESS]\n");
    return 2;
  }
  return tiffany::run(program(arguments[1], count == 3 ? arguments[2] : "127.0.0.1:0"));
}
