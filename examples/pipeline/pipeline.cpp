// Other programs, joined by pipes as a shell would, with a time limit: what is late is killed.
#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include "tiffany/io/process.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/tiffany.hpp"

using namespace std::chrono_literals;
using namespace tiffany;

Task<void> copy(ByteStream* from, ByteStream* to) {
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) break;
    co_await to->write(room.data(), n);
  }
  to->close();
}

// printf ... | sort | uniq -c
Task<std::string> count_words() {
  Process words(Command("printf").arg("b\\na\\nb\\nc\\nb\\na\\n").pipe_output());
  Process sorted(Command("sort").pipe_input().pipe_output());
  Process counted(Command("uniq").arg("-c").pipe_input().pipe_output());
  std::string all;
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(copy, &words.output(), &sorted.input());
    s.spawn(copy, &sorted.output(), &counted.input());
    std::array<char, 4096> room;
    for (;;) {
      const std::size_t n = co_await counted.output().read(room);
      if (n == 0) break;
      all.append(room.data(), n);
    }
  });
  const ExitStatus end = co_await counted.wait();
  co_return all + "(" + end.text() + ")";
}

Task<std::string> too_slow() {
  const ProcessOutput output = co_await run_command(Command("sleep").arg("1000"));
  co_return output.status.text();
}

Task<void> work() {
  const auto counts = co_await within(10s, count_words());
  std::printf("%s\n", counts.value().c_str());
  const auto slow = co_await within(20ms, too_slow());
  std::printf("sleep %s\n", slow.timed_out() ? "took too long and was killed" : "ended");
}

Task<void> until_ctrl_c(Signals* stop) {
  co_await stop->next();
  std::printf("interrupted: the programs are killed\n");
}

Task<void> program() {
  Signals stop({SIGINT, SIGTERM});
  co_await race(work(), until_ctrl_c(&stop));
}

int main() { return run(program()); }
