// The file of a unix socket: bound together with its socket, and removed with it. Users do not need
// this class: Listener and DatagramSocket have one.
//
// A path that is taken:
//   - by a socket that nobody has open any more (its process was killed): the file is removed and
//     the path taken over;
//   - by a socket that somebody has open: IoError (EADDRINUSE) with the process that has it;
//   - by anything else: IoError (EADDRINUSE), and the file is left alone.
//
// Whether somebody has the socket open is found out by connecting to it, so a live server sees one
// connection that ends at once. The directory is locked (flock) meanwhile, so that of two processes
// that find the same dead socket only one takes it over. A program that locks nothing can still
// bind the path between our look and our removal; that window is a few microseconds.
//
// The file is removed only when it still is the one that was bound (device and inode), and only by
// the process that bound it: neither a successor at the same path nor a forked child loses a
// socket.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "tiffany/io/address.hpp"
#include "tiffany/io/descriptor.hpp"

namespace tiffany {

class SocketPath {
 public:
  SocketPath() noexcept = default;  // of a socket without a file
  ~SocketPath() { remove(); }
  SocketPath(SocketPath&& other) noexcept
      : path_(std::exchange(other.path_, std::string())),
        device_(other.device_),
        inode_(other.inode_),
        owner_(other.owner_) {}
  SocketPath& operator=(SocketPath&& other) noexcept;

  // Binds the socket to the address and, with a backlog, listens. Addresses that are no path are
  // bound as they are. Throws IoError. A plain call: it waits for a lock of the directory for 50 ms
  // at the most.
  static SocketPath bind(const Descriptor& socket, const Address& address,
                         std::optional<int> backlog = std::nullopt);

  // Before the socket is closed: as long as it is open no other file gets its inode.
  void remove() noexcept;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  pid_t owner_ = 0;
};

}  // namespace tiffany
