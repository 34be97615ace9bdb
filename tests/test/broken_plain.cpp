// Explores one of the broken programs, by the name in its argument, without any test framework.
#include <cstdio>
#include <string>

#include "broken.hpp"

int main(int argc, char** argv) {
  using namespace tiffany::test;
  const std::string which = argc > 1 ? argv[1] : "";
  const ExploreOptions options = ExploreOptions().name(argc > 2 ? argv[2] : "");
  const Seeds seeds(1000);
  Exploration result;
  if (which == "lost_update") result = explore(broken::lost_update, seeds, options);
  if (which == "order_violation") result = explore(broken::order_violation, seeds, options);
  if (which == "deadlock_of_three") result = explore(broken::deadlock_of_three, seeds, options);
  std::fputs(result.text().c_str(), stdout);
  return result.passed() ? 0 : 1;
}
