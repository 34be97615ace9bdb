// A file descriptor that closes itself.
//
// Closing it, also by destroying it, ends the operations of other tasks on it with an IoError.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace tiffany {

class Pressure;
class World;

class Descriptor {
 public:
  Descriptor() noexcept = default;
  // Owns it from now on. Other processes may share what it names (standard input, a socket that was
  // handed down): its flags are left as they are.
  explicit Descriptor(int fd) noexcept;
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        incarnation_(other.incarnation_),
        made_here_(other.made_here_),
        pressure_(other.pressure_),
        world_(other.world_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      incarnation_ = other.incarnation_;
      made_here_ = other.made_here_;
      pressure_ = other.pressure_;
      world_ = other.world_;
    }
    return *this;
  }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  // A number that no other Descriptor of this process has or had.
  std::uint32_t incarnation() const noexcept { return incarnation_; }
  // Tags it: what takes in data from it waits while that gate is closed. See io/pressure.hpp.
  void hold_at(Pressure& gate) noexcept { pressure_ = &gate; }
  Pressure* pressure() const noexcept { return pressure_; }
  void close() noexcept;
  // Gives it away unclosed.
  int release() noexcept { return std::exchange(fd_, -1); }

  // True when take_descriptor() made it: no other process has it, and it may be made non-blocking.
  bool made_here() const noexcept { return made_here_; }

 private:
  friend Descriptor take_descriptor(int fd, std::string_view what, std::string_view on);

  int fd_ = -1;
  std::uint32_t incarnation_ = 0;
  bool made_here_ = false;
  Pressure* pressure_ = nullptr;
  World* world_ = nullptr;  // whose number it is
};

// The result of a system call that makes a descriptor which no other process has, or an IoError for
// what is in errno.
Descriptor take_descriptor(int fd, std::string_view what, std::string_view on);

}  // namespace tiffany
