// What a start may say besides the task and its arguments:
//
//   co_await host.start(StartOptions().id(order_id).key(customer).timeout(24h), order, x);
//
// All of it is in the first record of the task, so that it is the same after a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/base/time.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/actor.hpp"
#include "tiffany/durable/attributes.hpp"

namespace tiffany {

class StartOptions {
 public:
  StartOptions() = default;
  StartOptions(const StartOptions&) = default;
  StartOptions(StartOptions&&) = default;
  StartOptions& operator=(const StartOptions&) = default;
  // `options = std::move(options).key("Ada")` assigns to itself, and loses nothing.
  StartOptions& operator=(StartOptions&& other) noexcept {
    if (this != &other) data_ = std::move(other.data_);
    return *this;
  }

  // An id of the caller's choice: a second start with the same one is the same task. See
  // Host::start_as.
  StartOptions&& id(const Uuid& chosen) && {
    data_.id = chosen;
    return std::move(*this);
  }
  // The task is cancelled, as by Host::cancel, when it has not ended so long after its start. The
  // time is counted on the clock of the wall, also while no process runs. More than zero;
  // Errc::bad_argument otherwise.
  StartOptions&& timeout(Duration longest) && {
    data_.timeout = longest;
    return std::move(*this);
  }
  // Whom the task is for: a customer, a tenant. 1 to 200 bytes.
  StartOptions&& key(std::string text) && {
    data_.key = std::move(text);
    return std::move(*this);
  }
  // Instead of that of its type. Small numbers first.
  StartOptions&& priority(std::uint8_t number) && {
    data_.priority = number;
    return std::move(*this);
  }

  // By which operators find the task (durable/attributes.hpp).
  StartOptions&& attribute(std::string name, Attribute value) && {
    data_.attributes.insert_or_assign(std::move(name), std::move(value));
    return std::move(*this);
  }
  // Who starts it, and why: for those who read the log.
  StartOptions&& by(Actor actor) && {
    data_.actor = std::move(actor);
    return std::move(*this);
  }

  struct Data {
    std::optional<Uuid> id{};
    std::optional<Duration> timeout{};
    std::optional<std::string> key{};
    std::optional<std::uint8_t> priority{};
    Attributes attributes{};
    Actor actor{};
  };
  const Data& data() const noexcept { return data_; }

 private:
  Data data_;
};

}  // namespace tiffany
