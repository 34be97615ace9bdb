// The end of the world of fault_disk.hpp, and what comes after it.
#pragma once

#include <cstdint>
#include <exception>

namespace tiffany::wal::test {

class WorldEnded final : public std::exception {
 public:
  const char* what() const noexcept override { return "The world has ended."; }
};

// What a reboot does with what was not synced.
class Reboot {
 public:
  // Nothing of it is there: the power went.
  static Reboot lost() { return Reboot(Kind::lost, 0); }
  // All of it is there, and still in the cache: the process was killed, and the system lives on.
  static Reboot kept() { return Reboot(Kind::kept, 0); }
  // All names; of the data the first so many bytes, in the order in which they were written.
  static Reboot torn_at(std::uint64_t bytes) { return Reboot(Kind::torn, bytes); }
  // By chance, for each name and each file.
  static Reboot seeded(std::uint64_t seed) { return Reboot(Kind::seeded, seed); }

  enum class Kind : std::uint8_t { lost, kept, torn, seeded };
  Kind kind;
  std::uint64_t number;

 private:
  Reboot(Kind what, std::uint64_t of) : kind(what), number(of) {}
};

}  // namespace tiffany::wal::test
