#include "world/memory/state.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "world/memory/files.hpp"
#include "world/memory/processes.hpp"
#include "world/memory/sockets.hpp"

namespace tiffany::world::memory {

Object::~Object() {
  if (touched) state.forget(this);
}

std::vector<Object::Waiter>& Object::queue(const Operation& op) noexcept {
  const bool waits_to_write =
      op.kind == Kind::poll ? (op.flags & POLLIN) == 0
                            : op.writes() || op.kind == Kind::send_msg || op.kind == Kind::connect;
  return waits_to_write ? out : in;
}

std::size_t Buffer::copy(void* to, std::size_t count) const noexcept {
  const std::size_t some = std::min(count, size());
  if (some > 0) std::memcpy(to, bytes_.data() + at_, some);
  return some;
}

void Buffer::drop(std::size_t count) noexcept {
  at_ += count;
  // Moving the rest to the front only when that is the smaller part keeps the cost linear.
  if (at_ * 2 < bytes_.size()) return;
  bytes_.erase(0, at_);
  at_ = 0;
}

State::State(MemoryWorldOptions options)
    : seed(options.seed_),
      wall_clock_us(options.wall_clock_us_),
      process_id(options.process_id_),
      buffer(options.buffer_),
      entropy(options.seed_.value_or(0), "entropy"),
      files(std::make_unique<Files>(*this)),
      sockets(std::make_unique<Sockets>(*this)),
      processes(std::make_unique<Processes>(*this)) {
  if (seed) chance_.emplace(*seed, "world");
  hosts["localhost"] = {"127.0.0.1", "::1"};
}

State::~State() {
  for (const ObjectPtr& object : table_) {
    if (object != nullptr && --object->descriptors == 0) object->closed();
  }
  table_.clear();  // objects use the rest of the state when they end
}

int State::add(ObjectPtr object) {
  ++object->descriptors;
  auto place = std::find(table_.begin(), table_.end(), nullptr);
  if (place == table_.end()) place = table_.insert(place, nullptr);
  *place = std::move(object);
  return kFirst + static_cast<int>(place - table_.begin());
}

ObjectPtr State::find(int fd) const noexcept {
  const auto index = static_cast<std::size_t>(fd) - kFirst;
  return fd >= kFirst && index < table_.size() ? table_[index] : nullptr;
}

void State::close(int fd) noexcept {
  if (find(fd) == nullptr) return;
  end_waits(fd, -EBADF);
  const ObjectPtr object = std::exchange(table_[static_cast<std::size_t>(fd - kFirst)], nullptr);
  if (--object->descriptors == 0) object->closed();
  settle();
}

std::size_t State::open_descriptors() const noexcept {
  return static_cast<std::size_t>(std::count_if(table_.begin(), table_.end(),
                                                [](const auto& each) { return each != nullptr; }));
}

void State::end_waits(int fd, int result) noexcept {
  const ObjectPtr object = find(fd);
  if (object == nullptr) return;
  for (auto* queue : {&object->in, &object->out}) {
    for (std::size_t i = 0; i < queue->size();) {
      const Object::Waiter waiter = (*queue)[i];
      if (waiter.op->fd != fd) {
        ++i;
        continue;
      }
      queue->erase(queue->begin() + static_cast<std::ptrdiff_t>(i));
      waiter.reactor->over(*waiter.op, result);
    }
  }
}

void State::touch(Object* object) {
  if (object == nullptr || std::exchange(object->touched, true)) return;
  touched_.push_back(object);
}

void State::forget(Object* object) noexcept { std::erase(touched_, object); }

// An operation that goes on may let another one go on, so this ends when none does.
void State::settle() {
  while (!touched_.empty()) {
    const ObjectPtr object = touched_.front()->shared_from_this();
    touched_.erase(touched_.begin());
    object->touched = false;
    for (auto* queue : {&object->in, &object->out}) {
      while (!queue->empty()) {
        const Object::Waiter first = queue->front();
        const int result = first.op->kind == Kind::poll
                               ? object->ready() & (first.op->flags | POLLERR | POLLHUP)
                               : object->attempt(*first.op);
        const bool waits = first.op->kind == Kind::poll ? result == 0 : result == -EAGAIN;
        if (waits) break;
        queue->erase(queue->begin());
        first.reactor->over(*first.op, result);
      }
    }
  }
}

std::size_t State::part_of(std::size_t there) noexcept {
  return chance_ && there > 1 ? 1 + draw(there) : there;
}

}  // namespace tiffany::world::memory
