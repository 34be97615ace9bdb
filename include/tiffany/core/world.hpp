// World: the one door to everything outside of a program. What a run depends on beyond its own code
// enters here, so that a simulator, a recording or a test can stand in for the operating system.
//
//   World& world = World::current();
//
// A World has two sides. What has to be waited for is its event side, the Reactor of a scheduler
// (core/reactor.hpp): the monotonic clock, timers, and operations on files, sockets and processes.
// What is answered at once is here. A scheduler gets its world with its reactor (Options::clock):
// Reactor::world().
//
// No object file outside of src/world, the World of the operating system, refers to a system call,
// a clock of the standard library or std::random_device: tools/check_world.py fails otherwise. Why
// and how: docs/decisions/0022-world.md.
//
// Lifetime: a World outlives the schedulers that use it, and the descriptors that it gave. Thread
// safety: every call may be made from any thread.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/base/time.hpp"

struct addrinfo;

namespace tiffany {

// Descriptors, files and directories, pipes, changes of files, terminals. Descriptors are numbers
// of their world; the operations of its reactor take the same. Each call does what the one of POSIX
// with that name does, and returns what it returns: -1, and errno, when it fails. None waits for
// anything but a disk.
class WorldFiles {
 public:
  // ---- Descriptors ----

  // A thread may still work on it: then the number is given away when that has ended.
  virtual void close(int fd) noexcept = 0;
  virtual int duplicate(int fd) noexcept = 0;
  virtual int set_blocking(int fd, bool on) noexcept = 0;
  // What is there now; EAGAIN when that is nothing and the descriptor does not block.
  virtual ssize_t read(int fd, void* to, std::size_t size) noexcept = 0;
  virtual int pipe(int (&ends)[2]) noexcept = 0;  // read from the first, write to the second
  virtual std::size_t pipe_capacity(int fd) noexcept = 0;
  virtual int status(int fd, struct stat& found) noexcept = 0;
  virtual int truncate(int fd, std::uint64_t size) noexcept = 0;
  virtual int lock(int fd) noexcept = 0;  // for this process alone (flock); EWOULDBLOCK
  // Bytes of a file into a socket that does not block.
  virtual ssize_t send_file(int to, int from, std::uint64_t at, std::size_t count) noexcept = 0;
  // At an offset; fewer bytes than were asked for are no error.
  virtual ssize_t read_at(int fd, void* to, std::size_t size, std::uint64_t at) noexcept = 0;
  virtual ssize_t write_at(int fd, const void* from, std::size_t size,
                           std::uint64_t at) noexcept = 0;
  // The same, until these bytes are on the disk.
  virtual ssize_t write_synced_at(int fd, const void* from, std::size_t size,
                                  std::uint64_t at) noexcept = 0;
  virtual int sync(int fd) noexcept = 0;
  virtual int sync_data(int fd) noexcept = 0;
  // Everything on the file system of an open file. Where syncs_report() is false, errors of other
  // files than this one are not said.
  virtual int sync_file_system(int fd) noexcept = 0;
  virtual bool syncs_report() noexcept = 0;
  // The path of an open file, for people; empty when nobody knows it.
  virtual std::string path_of(int fd) = 0;

  // ---- Paths ----

  virtual int open(const char* path, int flags, mode_t mode = 0) noexcept = 0;
  virtual int status(const char* path, struct stat& found) noexcept = 0;
  virtual int status_of_link(const char* path, struct stat& found) noexcept = 0;
  virtual int access(const char* path, int how) noexcept = 0;
  virtual int remove(const char* path) noexcept = 0;
  virtual int rename(const char* from, const char* to) noexcept = 0;
  virtual int rename_new(const char* from, const char* to) noexcept = 0;  // EEXIST
  virtual int truncate(const char* path, std::uint64_t size) noexcept = 0;
  virtual int make_directory(const char* path) noexcept = 0;
  virtual int change_mode(const char* path, mode_t mode) noexcept = 0;

  // ---- Directories, on a thread ----

  // Called for each entry but "." and "..", with a type as S_IFMT has it; false ends the listing.
  class EntryVisitor {
   public:
    virtual bool on_entry(const char* name, mode_t type) = 0;

   protected:
    ~EntryVisitor() = default;
  };
  enum class Listed : std::uint8_t { all, cut_short, cannot_open, cannot_read };
  virtual Listed list(const char* path, EntryVisitor& visitor) = 0;

  // ---- Changes of files (inotify): events are read from the descriptor ----

  virtual int make_watch() noexcept = 0;
  virtual int add_watch(int fd, const char* path, std::uint32_t events) noexcept = 0;
  virtual void remove_watch(int fd, int number) noexcept = 0;

  // ---- Terminals ----

  // The end that a program does not get; `other` is the path of the one that it gets.
  virtual int make_terminal(std::string& other) = 0;
  virtual int resize_terminal(int fd, std::uint16_t columns, std::uint16_t rows) noexcept = 0;

 protected:
  ~WorldFiles() = default;
};

// Sockets are made, bound and asked here, and used through the reactor. As with files, each call is
// that of POSIX with the name.
class WorldSockets {
 public:
  virtual int make(int family, int type) noexcept = 0;
  virtual int bind(int fd, const sockaddr* to, socklen_t size) noexcept = 0;
  virtual int listen(int fd, int backlog) noexcept = 0;
  // Of a socket that does not wait: of datagrams, or one that does not block.
  virtual int connect(int fd, const sockaddr* to, socklen_t size) noexcept = 0;
  virtual int shutdown(int fd, int how) noexcept = 0;
  virtual int set_option(int fd, int level, int option, const void* value,
                         socklen_t size) noexcept = 0;
  virtual int get_option(int fd, int level, int option, void* value, socklen_t& size) noexcept = 0;
  virtual int local_name(int fd, sockaddr* name, socklen_t& size) noexcept = 0;
  virtual int peer_name(int fd, sockaddr* name, socklen_t& size) noexcept = 0;
  virtual unsigned interface_index(const char* name) noexcept = 0;  // 0: there is none
  // getaddrinfo, on a thread: it waits.
  virtual int look_up(const char* host, const char* service, const addrinfo& hints,
                      addrinfo*& found) noexcept = 0;
  virtual void free_found(addrinfo* found) noexcept = 0;

 protected:
  ~WorldSockets() = default;
};

// Other processes, and signals to this one.
class WorldProcesses {
 public:
  struct Plan {
    const char* program = nullptr;     // looked up in PATH unless it has a slash
    char* const* words = nullptr;      // the first is its name; ends with null
    char* const* variables = nullptr;  // NAME=value; ends with null
    const char* directory = nullptr;   // null: that of this process
    const char* terminal = nullptr;    // its three descriptors, and a session of its own
    // What its three descriptors are; -1: input is empty, the other two are those of this process.
    int descriptors[3] = {-1, -1, -1};
    bool own_group = true;
  };
  // 0 or an errno. The child has no other descriptor, no signal mask and no ignored signal.
  virtual int start(const Plan& plan, pid_t& child) noexcept = 0;
  // A descriptor that is readable when the process has ended.
  virtual int open_handle(pid_t child) noexcept = 0;
  // To a number, which another process has when that one is reaped. Negative: to a group.
  virtual int kill(pid_t process, int signal) noexcept = 0;
  // To the process of a handle and never to another; ESRCH when it is reaped. Signal 0 only asks.
  virtual int send_signal(int handle, int signal) noexcept = 0;
  // Waits for the end and takes the exit status: 0 or an errno.
  virtual int wait(pid_t child, int& code, int& signal) noexcept = 0;
  virtual char** environment() noexcept = 0;

  // Signals come out of a descriptor, a byte each, and do nothing else until it is closed by
  // close_signals(); `wanted` has a bit for each, that of signal 1 first. -1: `failed` is the
  // signal that cannot be had, 0 when it was not a signal that failed.
  virtual int open_signals(std::uint64_t wanted, void*& token, int& failed) = 0;
  virtual void close_signals(void* token) noexcept = 0;
  // Writes to a closed pipe fail instead of ending the program, unless it has a handler of its own.
  virtual void ignore_broken_pipes() noexcept = 0;
  // The words that this process was started with; none when nobody knows them.
  virtual std::vector<std::string> arguments() = 0;

 protected:
  ~WorldProcesses() = default;
};

class World {
 public:
  virtual ~World() = default;
  // Of the scheduler that runs on this thread; the operating system when there is none.
  static World& current() noexcept;

  // Microseconds since 1970, UTC. May jump, in both directions. None in a world whose only time is
  // that of its reactor.
  virtual std::optional<std::int64_t> wall_clock_us() noexcept = 0;
  // Blocks this thread. For the few who wait for another process, and for no longer than that
  // takes.
  virtual void pause(Duration length) noexcept = 0;
  // Fills memory with bytes that nobody can predict. False, and memory as it was: this world has
  // none, because its runs are repeated exactly; derive a seed from what is known instead. Throws
  // an Error (Errc::io_failed) when there should be some and are none.
  virtual bool entropy(void* memory, std::size_t size) = 0;
  // Of this process, as other processes know it.
  virtual int process_id() noexcept = 0;
  // Whose rights this process has.
  virtual std::uint32_t user_id() noexcept = 0;

  virtual WorldFiles& files() noexcept = 0;
  virtual WorldSockets& sockets() noexcept = 0;
  virtual WorldProcesses& processes() noexcept = 0;
};

// The operating system. Defined by module world.
World& os_world() noexcept;
// The operating system without its wall clock and entropy: of reactors with a virtual clock.
World& repeatable_world() noexcept;

}  // namespace tiffany
