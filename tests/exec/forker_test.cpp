// Commands that are forked, and not executed one by one.
#include <sys/wait.h>

#include <csignal>

#include "exec/exec_world.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace forker_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;
using exec::Secret;

class Forked : public ExecTest {
 protected:
  // Writes the process that forked its supervisor.
  static CommandSpec asks() { return shell("sed 's/.*) . //' /proc/$PPID/stat | cut -d ' ' -f 1"); }
  pid_t forker_of(const std::string& name) const {
    return std::stoi("0" + text_of(file_of(id_of(name), "out")));
  }
  static bool listens(pid_t process) {
    const std::string words = text_of("/proc/" + std::to_string(process) + "/cmdline");
    return words.find("listen") != std::string::npos;
  }
};

TEST_F(Forked, CommandsOfOneProgramAreForkedByOneProcess) {
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    static_cast<void>(co_await all.run(id_of("a"), asks()));
    static_cast<void>(co_await all.run(id_of("b"), asks()));
  });
  EXPECT_TRUE(listens(forker_of("a")));
  EXPECT_EQ(forker_of("a"), forker_of("b"));
}

TEST_F(Forked, AForkerThatIsKilledIsReplacedAndItsCommandsGoOn) {
  const Fifo begun(at("begun"));
  const Fifo go(at("go"));
  CommandResult end;
  CommandResult next;
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    static_cast<void>(co_await all.run(id_of("a"), asks()));
    auto held = spawn([&]() -> Task<CommandResult> {
      return all.run(id_of("held"),
                     shell("echo > \"$1\"; read line < \"$2\"; exit 7", {begun.path(), go.path()}));
    });
    co_await offload([&] { return begun.line(); });
    kill(forker_of("a"), SIGKILL);
    ends(forker_of("a"));
    next = co_await all.run(id_of("b"), asks());
    go.write_line("go");
    end = co_await held;
  });
  EXPECT_EQ(end.code, 7);
  EXPECT_TRUE(next.ok());
  EXPECT_TRUE(listens(forker_of("b")));
  EXPECT_NE(forker_of("a"), forker_of("b"));
}

TEST_F(Forked, AForkerEndsWithItsProgram) {
  const pid_t child = fork();
  if (child == 0) {
    run(id_of("a"), asks());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_GT(forker_of("a"), 1);
  EXPECT_TRUE(ends(forker_of("a")));
}

TEST_F(Forked, WhereThePathIsTooLongForASocketCommandsRunWithoutAForker) {
  const std::string deep = at(std::string(120, 'x')) + "/commands";
  CommandResult end;
  program([&]() -> Task<void> {
    exec::Commands all(deep, TIFFANY_RUN);
    end = co_await all.run(id_of("a"), shell("exit 5"));
  });
  EXPECT_EQ(end.code, 5);
}

TEST_F(Forked, WhatIsNoRequestHarmsNobody) {
  program([&]() -> Task<void> {
    exec::Commands all = commands();
    static_cast<void>(co_await all.run(id_of("a"), asks()));
    for (const char* const text : {"", "\n", "{}", "{}\n{}", "[\n]", "{\"directory\":1}\n{}"}) {
      Socket connection = co_await connect(Address::unix_path(commands_at() + "/forker"));
      co_await connection.write(std::string(text));
      connection.shutdown_write();
      std::array<std::byte, 256> room;
      while (co_await connection.read(Room(room.data(), room.size())) > 0) {
      }
    }
    static_cast<void>(co_await all.run(id_of("b"), asks()));
  });
  EXPECT_EQ(forker_of("a"), forker_of("b"));
}

// ---- Secrets that a command prints ----

TEST_F(Forked, TwentySecretsInSixFormsAreInNoFile) {
  const auto value = [](int i) { return "s3cr3t " + std::to_string(i * 7919) + "\"/+&"; };
  CommandSpec spec = shell(R"sh(
for v in $(env | grep '^S[0-9]*=' | cut -d= -f1); do
  eval "x=\$$v"
  for to in 1 2; do
    printf '%s\n' "$x" >&$to
    printf 'user:%s\n' "$x" | base64 -w0 >&$to; echo >&$to
    printf '%s' "$x" | base64 -w0 | tr '+/' '-_' >&$to; echo >&$to
    printf '%s' "$x" | od -An -tx1 | tr -d ' \n' >&$to; echo >&$to
    printf '%s\n' "$x" | sed 's/ /%20/g; s/"/%22/g; s/\//%2F/g; s/+/%2B/g; s/&/%26/g' >&$to
    printf '"%s"\n' "$(printf '%s' "$x" | sed 's/"/\\"/g')" >&$to
  done
done
printf 'name=%s\n' "$S3" >> "$TIFFANY_OUTPUT"
printf 's3cr'; sleep 0.02; printf '3t 0"/+&')sh");
  for (int i = 0; i < 20; ++i) {
    const std::string name = "S" + std::to_string(i);
    if (i % 2 == 0) {
      put(at(name), value(i) + "\n");
      spec.secrets.push_back(Secret::from_file(name, at(name)));
    } else {
      setenv(("TIFFANY_TEST_" + name).c_str(), value(i).c_str(), 1);
      spec.secrets.push_back(Secret::from_variable(name, "TIFFANY_TEST_" + name));
    }
  }
  EXPECT_EQ(run(id_of("leaks"), spec).text(), "exit code 0");
  for (int i = 1; i < 20; i += 2) unsetenv(("TIFFANY_TEST_S" + std::to_string(i)).c_str());
  std::string all;
  for (const auto& entry :
       std::filesystem::directory_iterator(commands_at() + "/" + id_of("leaks").text())) {
    all += text_of(entry.path());
  }
  std::size_t stars = 0;
  for (std::size_t at = 0; (at = all.find("***", at)) != std::string::npos; at += 3) ++stars;
  EXPECT_GE(stars, 240u);
  EXPECT_EQ(text_of(file_of(id_of("leaks"), "outputs")), "name=***\n");
  EXPECT_EQ(all.find("s3cr3t"), std::string::npos);
  EXPECT_EQ(all.find("733363723374"), std::string::npos);  // in digits
  EXPECT_EQ(all.find(to_base64("s3cr3t").substr(0, 7)), std::string::npos);
  EXPECT_EQ(all.find(to_base64("user:s3cr3t").substr(8, 6)), std::string::npos);
  EXPECT_EQ(all.find("%22%2F%2B%26"), std::string::npos);
}

}  // namespace forker_test
}  // namespace tiffany
