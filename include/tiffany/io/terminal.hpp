// A terminal of our own (a pty), for programs that behave differently when they talk to a person:
// shells, editors, password prompts. For everything else pipes (io/process.hpp) are simpler.
//
//   Terminal terminal;
//   Process shell = terminal.start(Command("sh"));
//   co_await terminal.write("echo hello\n");
//   while (const std::size_t n = co_await terminal.read(room)) print(room, n);
//   const ExitStatus end = co_await shell.wait();
//
// It is a Stream (io/stream.hpp): what is written is as if typed, what is read is what the screen
// would show. That includes the echo of what was typed, and "\r\n" at the ends of lines, unless the
// program switches them off. Output and errors come mixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

class Terminal {
 public:
  // Throws IoError.
  explicit Terminal(std::uint16_t columns = 80, std::uint16_t rows = 24);

  // Starts a program in a session of its own, with this as its controlling terminal: Ctrl-C typed
  // ("\x03") is a SIGINT for it, and resize() a SIGWINCH. Pipes that the command asks for are not
  // made. Throws IoError.
  Process start(Command command);

  // The number of bytes that came; 0 when no program has the terminal open any more. Cancel. Before
  // start and while parked: the wait is given up, and nothing is lost. After completion: the bytes
  // are given, and the next suspension throws.
  Task<std::size_t> read(Room room);
  // Cancel: as for every stream (io/io_call.hpp). A program that reads nothing holds up writes
  // after about 4 KiB, and in line mode the system drops what is beyond the 4095th byte of a line.
  Write write(Bytes bytes) const noexcept { return master_.write(bytes); }

  void resize(std::uint16_t columns, std::uint16_t rows) const;
  // Programs that still have it open get SIGHUP.
  void close() noexcept { master_.close(); }
  explicit operator bool() const noexcept { return static_cast<bool>(master_); }
  const Descriptor& descriptor() const noexcept { return master_.descriptor(); }

 private:
  std::string slave_;  // the path of the end that programs get
  ByteStream master_;
};

static_assert(Stream<Terminal>);

}  // namespace tiffany
