// The standard streams of a program: one message a line. Two tasks read what it says, one writes,
// one waits for its end.
#include <array>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <vector>

#include "agent/mcp_link.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::agent::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostQueued = std::size_t{16} << 20;
constexpr std::size_t kKeptErrors = 2048;
constexpr std::size_t kLongestSecret = 65536;

// What an answer is waited for with.
struct Pending {
  Pending() = default;
  ManualResetEvent changed{};
  std::optional<Said> answer{};
};

struct Outgoing {
  Outgoing(std::string message, bool* told) : line(std::move(message)), begun(told) {}
  std::string line;
  bool* begun;  // set when the first byte may go out; null: nobody asks
};

// Shared by the link and its tasks.
class Talk {
 public:
  Talk(std::optional<Process> program, ByteStream in, ByteStream out, std::size_t longest)
      : process(std::move(program)), from(std::move(in)), to(std::move(out)), most_bytes(longest) {}

  void break_off(Errc code, const std::string& sentence) {
    if (!why.empty()) return;
    why = sentence;
    why_code = code;
    if (process) process->kill_group(SIGKILL);
    for (const auto& each : pending) each.second->changed.set();
    outgoing.set();
  }
  [[noreturn]] void fail() const {
    std::string sentence = why;
    const std::string said = in_a_sentence(secrets.scrubbed(errors), kKeptErrors);
    if (!said.empty()) sentence += " Its last words: " + said;
    throw Error(why_code, sentence);
  }
  void enqueue(std::string line, bool* begun) {
    if (!why.empty()) return;
    queued += line.size();
    queue.emplace_back(std::move(line) + "\n", begun);
    outgoing.set();
  }
  void take(const std::string& line);
  void take_unasked(const Said& said, std::size_t bytes);

  std::optional<Process> process;
  ByteStream from;
  ByteStream to;
  std::size_t most_bytes;
  std::map<std::string, Pending*> pending{};  // by id
  std::deque<Outgoing> queue{};
  std::size_t queued = 0;
  ManualResetEvent outgoing{};
  ManualResetEvent read_to_the_end{};
  std::string errors{};  // the last that it wrote there
  Scrubber secrets{};
  std::size_t unasked = 0;  // since something was asked
  std::size_t unasked_bytes = 0;
  std::string why{};  // it cannot be used any more
  Errc why_code = Errc::io_failed;
  std::vector<Handle<void>> tasks{};
  Link* link = nullptr;
};
using TalkPtr = std::shared_ptr<Talk>;

void Talk::take_unasked(const Said& said, std::size_t bytes) {
  unasked_bytes += bytes;
  if (++unasked > kMostUnasked || unasked_bytes > kMostUnaskedBytes) {
    return break_off(Errc::bad_reply, "It says more than anybody asked for.");
  }
  if (said.is_answer()) return;  // to a question that nobody waits for any more, or never asked
  if (!said.id.empty()) {
    if (queued > kMostQueued) return;  // it asks and does not listen
    enqueue(said.method == "ping" ? answer_text(said.id) : refusal_text(said.id, said.method),
            nullptr);
  } else if (said.method == "notifications/tools/list_changed") {
    if (link != nullptr && link->list_changed) link->list_changed();
  } else if (said.method == "notifications/progress") {
    const auto found = pending.find(said.params.raw("progressToken"));
    if (found != pending.end()) found->second->changed.set();
  }
}

void Talk::take(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  const Said said = read_said(line);
  const auto found = said.is_answer() ? pending.find(said.id) : pending.end();
  if (found == pending.end()) return take_unasked(said, line.size());
  found->second->answer = said;
  found->second->changed.set();
  pending.erase(found);
  unasked = unasked_bytes = 0;
}

Task<void> read_lines(TalkPtr talk) {
  std::array<char, 16384> room;
  std::string buffer;
  for (;;) {
    const std::size_t looked = buffer.size();
    const std::size_t came = co_await talk->from.read(room);
    if (came == 0) co_return;
    buffer.append(room.data(), came);
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n', looked); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      talk->take(buffer.substr(begin, end - begin));
      if (!talk->why.empty()) co_return;
      begin = end + 1;
    }
    buffer.erase(0, begin);
    if (buffer.size() > talk->most_bytes) {
      talk->break_off(Errc::bad_reply, "It said a line of more than " +
                                           std::to_string(talk->most_bytes) + " bytes.");
      co_return;
    }
  }
}

Task<void> read_answers(TalkPtr talk) {
  try {
    co_await read_lines(talk);
    if (!talk->process) talk->break_off(Errc::io_failed, "It has ended.");
  } catch (const IoError& error) {
    talk->break_off(Errc::io_failed, std::string("It cannot be read from: ") + error.what());
  } catch (const Error& error) {
    talk->break_off(error.code(), error.what());
  }
  talk->read_to_the_end.set();
}

Task<void> read_errors(TalkPtr talk) {
  std::array<char, 4096> room;
  try {
    for (;;) {
      const std::size_t came = co_await talk->process->errors().read(room);
      if (came == 0) co_return;
      talk->errors.append(room.data(), came);
      if (talk->errors.size() > kKeptErrors) {
        talk->errors.erase(0, talk->errors.size() - kKeptErrors);
      }
    }
  } catch (const IoError&) {  // what it has said until now is shown
  }
}

Task<void> write_lines(TalkPtr talk) {
  try {
    while (talk->why.empty()) {
      if (talk->queue.empty()) {
        talk->outgoing.reset();
        co_await talk->outgoing.wait();
        continue;
      }
      // It stays in the queue while it is written: who asked may go meanwhile, see forget().
      if (talk->queue.front().begun != nullptr) *talk->queue.front().begun = true;
      talk->queue.front().begun = nullptr;
      const std::string line = talk->queue.front().line;
      co_await talk->to.write(line);
      talk->queued -= line.size() - 1;
      talk->queue.pop_front();
    }
  } catch (const IoError& error) {
    // Its end says more, if it has ended.
    if (!talk->process) {
      talk->break_off(Errc::io_failed, std::string("It cannot be written to: ") + error.what());
    }
  }
}

// Whoever has its streams when it has ended is a child of its: killed, or not waited for.
Task<void> watch_end(TalkPtr talk) {
  co_await talk->process->ended();
  talk->process->kill_group(SIGKILL);
  (void)co_await within(500ms, talk->read_to_the_end.wait());
  std::string how = "nobody knows how";
  try {
    const ExitStatus status = co_await talk->process->wait();
    how = status.text();
  } catch (const IoError&) {  // somebody else has reaped it
  }
  talk->break_off(Errc::io_failed, "It has ended (" + how + ").");
}

class StdioLink final : public Link {
 public:
  explicit StdioLink(TalkPtr talk) : talk_(std::move(talk)) {
    talk_->link = this;
    begin(read_answers, "reads a server of tools");
    begin(write_lines, "writes to a server of tools");
    if (talk_->process) {
      begin(read_errors, "reads errors of a server of tools");
      begin(watch_end, "waits for the end of a server of tools");
    }
  }
  ~StdioLink() override {
    talk_->link = nullptr;
    talk_->break_off(Errc::io_failed, "It is not used any more.");
    for (const Handle<void>& each : talk_->tasks) each.cancel("the server is not used any more");
  }
  StdioLink(const StdioLink&) = delete;
  StdioLink& operator=(const StdioLink&) = delete;

  Task<Said> ask(Ask& what) override {
    if (broken()) talk_->fail();
    if (talk_->queued > kMostQueued) {
      throw Error(Errc::io_failed, "It does not read what it is told.");
    }
    Waiting waiting(*talk_, what);
    for (;;) {
      const auto waited = co_await within(what.idle, waiting.pending.changed.wait());
      if (waiting.pending.answer) co_return std::move(*waiting.pending.answer);
      if (broken()) talk_->fail();
      if (waited.timed_out()) late(what);
      waiting.pending.changed.reset();  // progress
    }
  }
  Task<void> tell(std::string notification) override {
    talk_->enqueue(std::move(notification), nullptr);
    co_return;
  }
  void use_version(std::string) override {}
  bool broken() const noexcept override { return !talk_->why.empty(); }

  Task<void> close() override {
    talk_->to.close();
    if (talk_->process) (void)co_await within(1s, talk_->process->ended());
    talk_->break_off(Errc::io_failed, "It was ended.");
  }

 private:
  using Work = Task<void> (*)(TalkPtr);
  void begin(Work work, const char* name) {
    Scheduler& scheduler = Scheduler::require("McpServer");
    talk_->tasks.push_back(scheduler.spawn(work, talk_).named(name).daemon());
  }
  [[noreturn]] void late(const Ask& what) {
    const std::string sentence = "It said nothing for " + duration_text(what.idle) + ".";
    // One that does not listen is of no use to the next call.
    if (!what.sent || !talk_->queue.empty()) talk_->break_off(Errc::io_failed, sentence);
    throw Error(Errc::io_failed, sentence);
  }

  // As long as somebody waits for an answer. Who goes before it came tells the server.
  class Waiting {
   public:
    Waiting(Talk& talk, Ask& what) : pending(), talk_(talk), ask_(what) {
      talk_.pending[std::to_string(ask_.id)] = &pending;
      talk_.unasked = talk_.unasked_bytes = 0;
      talk_.enqueue(ask_.text, &ask_.sent);
    }
    ~Waiting() {
      talk_.pending.erase(std::to_string(ask_.id));
      for (auto each = talk_.queue.begin(); each != talk_.queue.end(); ++each) {
        if (each->begun != &ask_.sent) continue;
        talk_.queued -= each->line.size() - 1;
        talk_.queue.erase(each);  // it was not begun
        return;
      }
      if (pending.answer || !ask_.cancels) return;
      talk_.enqueue(notification_text("notifications/cancelled",
                                      "\"requestId\":" + std::to_string(ask_.id) +
                                          ",\"reason\":\"Nobody waits for the answer any more.\""),
                    nullptr);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Pending pending;

   private:
    Talk& talk_;
    Ask& ask_;
  };

  TalkPtr talk_;
};

Task<std::string> value_of(const exec::Secret& secret) {
  if (!secret.variable.empty()) {
    const char* const value = std::getenv(secret.variable.c_str());
    co_return value == nullptr ? std::string() : std::string(value);
  }
  std::string text = co_await read_file(secret.file, kLongestSecret);
  if (text.ends_with('\n')) text.pop_back();
  co_return text;
}

}  // namespace

Task<std::shared_ptr<Link>> start_program(McpOptions options) {
  Command command(options.command.front());
  for (std::size_t i = 1; i < options.command.size(); ++i) {
    std::move(command).arg(options.command[i]);
  }
  if (!options.directory.empty()) std::move(command).directory(options.directory);
  for (const auto& [name, value] : options.environment) {
    std::move(command).env(name, value);
  }
  Scrubber secrets;
  for (const exec::Secret& each : options.secrets) {
    const std::string value = co_await value_of(each);
    secrets.add(value);
    std::move(command).env(each.name, value);
  }
  Process process(std::move(command).pipe_input().pipe_output().pipe_errors());
  ByteStream from = std::move(process.output());
  ByteStream to = std::move(process.input());
  auto talk = std::make_shared<Talk>(std::move(process), std::move(from), std::move(to),
                                     options.most_bytes);
  talk->secrets = std::move(secrets);
  co_return std::make_shared<StdioLink>(std::move(talk));
}

std::shared_ptr<Link> link_over(ByteStream from, ByteStream to, std::size_t most_bytes) {
  return std::make_shared<StdioLink>(
      std::make_shared<Talk>(std::nullopt, std::move(from), std::move(to), most_bytes));
}

}  // namespace tiffany::agent::mcp
