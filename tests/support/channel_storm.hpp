// Very many messages between very many tasks, in an order drawn from a seed: nothing may be lost,
// come twice, or overtake another message of its sender. Shared by tests/sync and `./dev soak
// sync`, so it knows no test framework.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/tiffany.hpp"

namespace tiffany::test {

class ChannelStorm {
 public:
  // Half of the tasks send, half of them receive. Some of both are cancelled on the way.
  ChannelStorm(std::uint64_t seed, std::size_t tasks, std::uint64_t messages)
      : seed_(seed), random_(seed, "storm"), per_sender_(messages / (tasks / 2)) {
    for (std::size_t i = 0; i < kChannels; ++i) {
      channels_.push_back(channel<Message>(random_.below(3) == 0 ? 0 : 1 + random_.below(8)));
    }
    accounts_.resize(tasks / 2);
    receivers_ = tasks - tasks / 2;
  }

  // Empty when all was well; otherwise what was not.
  std::string run() {
    Scheduler scheduler(Options()
                            .virtual_time()
                            .order(random_order(seed_))
                            .quantum(1 + static_cast<std::uint32_t>(seed_ % 7))
                            .seed(seed_));
    const auto program = [this]() -> Task<void> { co_await storm(); };
    scheduler.spawn(std::ref(program));
    scheduler.run();
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      const Account& account = accounts_[i];
      if (account.received != account.sent) complain(i, "sent and received differ");
      if (account.sum != account.sent * (account.sent - 1) / 2) complain(i, "came twice");
      total_ += account.received;
    }
    return std::move(complaint_);
  }
  std::uint64_t received() const noexcept { return total_; }

 private:
  static constexpr std::size_t kChannels = 16;

  struct Message {
    std::uint32_t sender;
    std::uint32_t number;
  };
  // Of one sender.
  struct Account {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t sum = 0;
  };
  // What one receiver knows: the number that it must not go below, for each sender.
  class Book {
   public:
    explicit Book(ChannelStorm& storm) : storm_(storm), least_(storm.accounts_.size()) {}
    void enter(const Message& message) {
      if (message.number < least_[message.sender]) storm_.complain(message.sender, "was overtaken");
      least_[message.sender] = message.number + 1;
      Account& account = storm_.accounts_[message.sender];
      ++account.received;
      account.sum += message.number;
    }

   private:
    ChannelStorm& storm_;
    std::vector<std::uint32_t> least_;
  };

  void complain(std::size_t sender, const char* what) {
    if (!complaint_.empty()) return;
    complaint_ = "seed " + std::to_string(seed_) + ", sender " + std::to_string(sender) + ": " +
                 what + " (sent " + std::to_string(accounts_[sender].sent) + ", received " +
                 std::to_string(accounts_[sender].received) + ")";
  }

  Task<void> send(std::uint32_t self, Sender<Message> sender) {
    for (std::uint32_t number = 0; number < per_sender_; ++number) {
      Message message{self, number};
      switch (random_.below(4)) {
        case 0:
          co_await sender.send(message);
          break;
        case 1:
          while (sender.try_send(message) != Posted::accepted) co_await yield();
          break;
        case 2:
          for (bool late = true; late;) {
            const auto sent = co_await within(Duration(1), sender.send_from(message));
            late = sent.timed_out();
          }
          break;
        default:
          co_await sender.send_from(message);
      }
      ++accounts_[self].sent;
    }
  }

  Task<void> receive(std::size_t kind, Receiver<Message> receiver, Receiver<Message> other) {
    Book book(*this);
    for (bool open = true; open;) {
      if (kind == 0) {
        const auto message = co_await receiver.recv();
        open = message.has_value();
        if (open) book.enter(*message);
      } else if (kind == 1) {
        const auto messages = co_await receiver.recv_many(1 + random_.below(8));
        open = !messages.empty();
        for (const Message& message : messages) book.enter(message);
      } else if (kind == 2) {
        const auto won = co_await race(receiver.recv(), other.recv());
        open = won.value.has_value();
        if (open) book.enter(*won.value);
      } else {
        const auto message = co_await within(Duration(1), receiver.recv());
        if (message.timed_out()) continue;
        open = message.value().has_value();
        if (open) book.enter(*message.value());
      }
    }
  }

  Task<void> storm() {
    std::vector<Handle<void>> mortal;
    const auto sending = [this](std::uint32_t self, Sender<Message> sender) -> Task<void> {
      co_await send(self, std::move(sender));
    };
    const auto receiving = [this](std::size_t kind, Receiver<Message> receiver,
                                  Receiver<Message> other) -> Task<void> {
      co_await receive(kind, std::move(receiver), std::move(other));
    };
    std::vector<Handle<void>> all;
    for (std::size_t i = 0; i < receivers_; ++i) {
      // The first of every channel only receives, and lives.
      const std::size_t kind = i / kChannels % 4;
      all.push_back(spawn(std::ref(receiving), kind, channels_[i % kChannels].receiver,
                          channels_[(i + 1) % kChannels].receiver));
      if (i >= kChannels && i % 5 == 0) mortal.push_back(all.back());
    }
    for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
      all.push_back(spawn(std::ref(sending), i, channels_[i % kChannels].sender));
      if (i % 7 == 0) mortal.push_back(all.back());
    }
    channels_.clear();
    for (const Handle<void>& handle : mortal) {
      for (std::uint64_t i = random_.below(20); i > 0; --i) co_await yield();
      handle.cancel();
    }
    co_await all_settled(all);
    for (const Handle<void>& handle : all) {
      if (handle.state() == TaskState::failed && complaint_.empty()) complaint_ = "a task failed";
    }
  }

  std::uint64_t seed_;
  Random random_;
  std::uint64_t per_sender_;
  std::size_t receivers_;
  std::vector<Channel<Message>> channels_;
  std::vector<Account> accounts_;
  std::string complaint_;
  std::uint64_t total_ = 0;
};

}  // namespace tiffany::test
