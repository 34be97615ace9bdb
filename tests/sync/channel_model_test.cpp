// A channel beside a reference: a list of values, a list of those who send, a list of those who
// receive.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sync/generated.hpp"

namespace tiffany {
namespace channel_model_test {

using namespace test;

class Reference {
 public:
  enum class End { waits, done, closed, withdrawn };
  struct Operation {
    End end = End::waits;
    std::optional<int> value;  // sent, or received
  };

  explicit Reference(std::size_t capacity) : capacity_(capacity) {}

  const Operation& operator[](int who) { return operations_[who]; }
  std::size_t size() const { return values_.size(); }

  void send(int who, int value) {
    Operation& self = operations_[who];
    self.value = value;
    if (closed_) {
      self.end = End::closed;
    } else if (!receivers_.empty()) {
      receive_from(receivers_.front(), value);
      receivers_.pop_front();
      self.end = End::done;
    } else if (values_.size() < capacity_) {
      values_.push_back(value);
      self.end = End::done;
    } else {
      senders_.push_back(who);
    }
  }
  void receive(int who) {
    if (const auto value = take()) {
      receive_from(who, *value);
    } else if (closed_) {
      operations_[who].end = End::closed;
    } else {
      receivers_.push_back(who);
      operations_[who] = Operation();
    }
  }
  // The oldest value, if there is one.
  std::optional<int> take() {
    if (!values_.empty()) {
      const int value = values_.front();
      values_.pop_front();
      if (!senders_.empty()) values_.push_back(release_sender());
      return value;
    }
    if (senders_.empty()) return std::nullopt;
    return release_sender();
  }
  void withdraw(int who) {
    if (std::erase(senders_, who) + std::erase(receivers_, who) > 0) {
      operations_[who].end = End::withdrawn;
    }
  }
  void close() {
    closed_ = true;
    for (const int who : senders_) operations_[who].end = End::closed;
    for (const int who : receivers_) operations_[who].end = End::closed;
    senders_.clear();
    receivers_.clear();
  }
  bool closed() const { return closed_; }
  Posted offer() const {
    if (closed_) return Posted::closed;
    return !receivers_.empty() || values_.size() < capacity_ ? Posted::accepted : Posted::full;
  }

 private:
  void receive_from(int who, int value) {
    operations_[who].end = End::done;
    operations_[who].value = value;
  }
  int release_sender() {
    Operation& sender = operations_[senders_.front()];
    senders_.pop_front();
    sender.end = End::done;
    return *sender.value;
  }

  const std::size_t capacity_;
  bool closed_ = false;
  std::deque<int> values_;
  std::deque<int> senders_;
  std::deque<int> receivers_;
  std::map<int, Operation> operations_;
};

using End = Reference::End;

TEST(ChannelModel, DoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    const auto capacity = static_cast<std::size_t>(random.below(4));
    auto numbers = channel<int>(capacity);
    Reference reference(capacity);
    Operations operations;
    ManualResetEvent never;
    const auto send = [&](int self, std::uint64_t how) -> Task<void> {
      int value = self;
      reference.send(self, self);
      End end = End::done;
      try {
        if (how == 0) co_await numbers.sender.send(value);
        if (how == 1) co_await numbers.sender.send_from(value);
        if (how == 2) co_await race(numbers.sender.send(value), never.wait());
      } catch (const Cancelled&) {
        EXPECT_EQ(reference[self].end, End::withdrawn) << self << " was to have sent";
        throw;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::channel_closed);
        end = End::closed;
      }
      EXPECT_EQ(reference[self].end, end) << self;
    };
    const auto receive = [&](int self, std::uint64_t how) -> Task<void> {
      reference.receive(self);
      std::vector<int> received;
      const std::size_t max = how < 2 ? 1 : how;
      try {
        if (how == 0) {
          const auto value = co_await numbers.receiver.recv();
          if (value) received.push_back(*value);
        } else if (how == 1) {
          const auto won = co_await race(numbers.receiver.recv(), never.wait());
          if (std::get<0>(won.value)) received.push_back(*std::get<0>(won.value));
        } else {
          received = co_await numbers.receiver.recv_many(max);
        }
      } catch (const Cancelled&) {
        EXPECT_EQ(reference[self].end, End::withdrawn) << self << " was to have received";
        throw;
      }
      std::vector<int> expected;
      if (reference[self].end == End::done) {
        expected.push_back(*reference[self].value);
        for (std::size_t left = std::min(max - 1, reference.size()); left > 0; --left) {
          expected.push_back(*reference.take());
        }
      } else {
        EXPECT_EQ(reference[self].end, End::closed) << self;
      }
      EXPECT_EQ(received, expected) << self;
    };
    for (int step = 0; step < 80; ++step) {
      const std::uint64_t what = random.below(16);
      if (what < 4) {
        operations.start(send, random.below(3));
      } else if (what < 8) {
        operations.start(receive, random.below(5));
      } else if (what < 11) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else if (what < 12) {
        const int value = 1000 + step;
        const Posted expected = reference.offer();
        if (expected == Posted::accepted) reference.send(value, value);
        EXPECT_EQ(numbers.sender.try_send(value), expected);
      } else if (what < 13) {
        const auto expected = reference.take();
        EXPECT_EQ(numbers.receiver.try_recv(), expected);
      } else {
        co_await yield_up_to(random, 8);
      }
      EXPECT_EQ(numbers.sender.size(), reference.size());
      if (step > 60 && random.below(20) == 0 && !reference.closed()) {
        reference.close();
        numbers.sender.close();
      }
    }
    co_await yield_up_to(random, 20);
    reference.close();
    numbers.receiver.close();
    co_await operations.join();
    EXPECT_EQ(numbers.receiver.size(), reference.size());
  };
  for_each_seed(program, 2000);
}

}  // namespace channel_model_test
}  // namespace tiffany
