// For the test of tools/check_world.py: code that goes past World.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <random>

int past_the_door() {
  std::random_device entropy;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return socket(AF_INET, SOCK_STREAM, 0) + getpid() + static_cast<int>(entropy()) +
         static_cast<int>(now);
}
