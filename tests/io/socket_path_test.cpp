#include "tiffany/io/socket_path.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/datagram.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace socket_path_test {

using test::thrown_by;
using test::what_of;

bool is_there(const std::string& path) { return std::filesystem::exists(path); }

// As a process that was killed leaves it: the file is there, and nobody listens.
void leave_a_dead_socket(const std::string& path, int type = SOCK_STREAM) {
  const Address at = Address::unix_path(path);
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, at.data(), at.size()), 0);
  ::close(fd);
  ASSERT_TRUE(is_there(path));
}

TEST(SocketPath, TheFileOfAListenerGoesWithTheListener) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  {
    const Listener listener = Listener::bind(Address::unix_path(path));
    EXPECT_TRUE(is_there(path));
  }
  EXPECT_FALSE(is_there(path));
  Listener closed = Listener::bind(Address::unix_path(path));
  closed.close();
  EXPECT_FALSE(is_there(path));
}

TEST(SocketPath, TheFileOfADatagramSocketGoesWithTheSocket) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  leave_a_dead_socket(path, SOCK_DGRAM);
  {
    const DatagramSocket socket = DatagramSocket::bind(Address::unix_path(path));
  }
  EXPECT_FALSE(is_there(path));
}

TEST(SocketPath, AMovedListenerKeepsItsFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  Listener outer;
  {
    Listener inner = Listener::bind(Address::unix_path(path));
    outer = std::move(inner);
  }
  EXPECT_TRUE(is_there(path));
  outer = Listener();
  EXPECT_FALSE(is_there(path));
}

TEST(SocketPath, APathThatADeadProcessHasLeftIsTakenOver) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  leave_a_dead_socket(path);
  const Listener listener = Listener::bind(Address::unix_path(path));
  const Address at = Address::unix_path(path);
  const Descriptor client(socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(::connect(client.fd(), at.data(), at.size()), 0);
}

TEST(SocketPath, APathThatSomebodyListensAtIsRefusedWithTheProcess) {
  const TemporaryDirectory directory;
  const Address at = Address::unix_path(directory / "socket");
  const Listener listener = Listener::bind(at);
  const std::string sentence = what_of(thrown_by([&] { Listener::bind(at); }));
  EXPECT_NE(sentence.find("Process " + std::to_string(getpid()) + " has this socket open."),
            std::string::npos)
      << sentence;
  EXPECT_TRUE(is_there(directory / "socket"));
}

TEST(SocketPath, AFileThatIsNoSocketIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "notes";
  std::ofstream(path) << "mine";
  const std::string sentence =
      what_of(thrown_by([&] { Listener::bind(Address::unix_path(path)); }));
  EXPECT_NE(sentence.find("no socket, and it was left alone"), std::string::npos) << sentence;
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(SocketPath, ATakenAbstractNameIsRefusedWithWhatToDo) {
  const Address at = Address::parse("unix:@tiffany-taken-" + std::to_string(getpid()));
  const Listener listener = Listener::bind(at);
  const std::string sentence = what_of(thrown_by([&] { Listener::bind(at); }));
  EXPECT_NE(sentence.find("choose another name"), std::string::npos) << sentence;
}

TEST(SocketPath, ASocketOfAnotherTypeIsNotTakenOver) {
  const TemporaryDirectory directory;
  const Address at = Address::unix_path(directory / "socket");
  const DatagramSocket socket = DatagramSocket::bind(at);
  EXPECT_NE(thrown_by([&] { Listener::bind(at); }), nullptr);
  EXPECT_TRUE(is_there(directory / "socket"));
}

TEST(SocketPath, ASuccessorAtTheSamePathKeepsItsFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  Listener first = Listener::bind(Address::unix_path(path));
  std::filesystem::remove(path);
  const Listener second = Listener::bind(Address::unix_path(path));
  first.close();
  EXPECT_TRUE(is_there(path));
}

TEST(SocketPath, AForkedChildLeavesTheFileOfItsParent) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  std::optional<Listener> listener = Listener::bind(Address::unix_path(path));
  const pid_t child = fork();
  if (child == 0) {
    listener.reset();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_there(path));
}

TEST(SocketPath, OfManyThatFindADeadSocketExactlyOneTakesItOver) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  for (int round = 0; round < 20; ++round) {
    leave_a_dead_socket(path);
    std::atomic<int> bound{0};
    std::atomic<int> refused{0};
    std::vector<std::optional<Listener>> kept(4);
    std::vector<std::thread> threads;
    for (std::optional<Listener>& mine : kept) {
      threads.emplace_back([&] {
        try {
          mine = Listener::bind(Address::unix_path(path));
          ++bound;
        } catch (const IoError&) {
          ++refused;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(bound, 1);
    EXPECT_EQ(refused, 3);
  }
}

}  // namespace socket_path_test
}  // namespace tiffany
