// Tasks that several tests spawn.
#pragma once

#include <stdexcept>
#include <string>

#include "support/harness.hpp"

namespace tiffany::test {

// Writes down when it begins and ends.
inline Task<int> step(Trace& trace, std::string name, int ms) {
  trace.push_back("+" + name);
  co_await sleep(std::chrono::milliseconds(ms));
  trace.push_back("-" + name);
  co_return ms;
}

// Writes down that it completed, and in any case that it is gone.
inline Task<int> gives(Trace& trace, int ms, std::string name) {
  const AtExit exit(trace, name + " gone");
  co_await sleep(std::chrono::milliseconds(ms));
  trace.push_back(name);
  co_return ms;
}

inline Task<int> fails_after(int ms, std::string why) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error(why);
}

}  // namespace tiffany::test
