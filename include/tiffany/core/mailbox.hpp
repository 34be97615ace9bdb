// A mailbox: signals with a value, from any thread into the tasks of one scheduler.
//
//   Mailbox<int> box(16);                                   // room for 16 that nobody has taken
//                                                           // yet
//   std::thread([sender = box.sender()] { sender.post(7); }).detach();
//   int value = co_await box.next();
//
// Making one, asking it for senders and awaiting it happen on the scheduler's thread. Posting is
// thread-safe, does not block, and wakes an idle scheduler at once. Values come out in the order
// they went in; several tasks may wait, and are served in the order they came. What was accepted is
// never lost while the mailbox lives. When the mailbox is full the poster is told, and the refusal
// counted.
//
// As long as a sender exists, a wait for the next value is not a deadlock. When the last one has
// been dropped and the mailbox is empty, waiting fails with Errc::mailbox_closed; so does it when
// the mailbox is destroyed under a task that waits.
//
// Cancel of the one who waits. Before start: a value that is there is taken, else Cancelled is
// thrown. While parked: the wait is withdrawn, and the next value goes to the next who waits, or
// stays. After completion: the value has been handed over and is returned; the next suspension
// throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/core/inbox.hpp"
#include "tiffany/core/posted.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waiter.hpp"

namespace tiffany {

template <class T>
class Mailbox;

namespace detail {

// What a mailbox and its senders share, on any thread.
class MailLine {
 public:
  MailLine(std::shared_ptr<Inbox> inbox, std::size_t capacity);

  // Sends a message that carries one value, if there is room for it.
  Posted post(std::unique_ptr<Message> message) noexcept;
  // A value was taken out.
  void give_back() noexcept { waiting_.fetch_sub(1); }
  void close() noexcept { closed_.store(true); }
  std::uint64_t refused() const noexcept { return refused_.load(); }
  std::size_t waiting() const noexcept { return waiting_.load(); }
  Inbox& inbox() noexcept { return *inbox_; }

 private:
  std::shared_ptr<Inbox> inbox_;
  const std::size_t capacity_;
  std::atomic<std::size_t> waiting_{0};  // accepted and not taken
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> closed_{false};
};

template <class T>
class TypedMailLine final : public MailLine {
 public:
  using MailLine::MailLine;
  Mailbox<T>* box = nullptr;  // the scheduler's thread only
};

// One value on its way, made by the poster, so that delivering it allocates nothing.
template <class T>
struct Mail {
  explicit Mail(T v) : value(std::move(v)) {}
  Mail* next = nullptr;
  T value;
};

[[noreturn]] void throw_mailbox_closed();

}  // namespace detail

// Posts into a mailbox, from any thread. Copyable; may outlive the mailbox and its scheduler.
template <class T>
class MailSender {
 public:
  Posted post(T value) const {
    // Whatever can throw comes before the room is taken.
    auto mail = std::make_unique<detail::Mail<T>>(std::move(value));
    auto message = std::make_unique<Delivery>(owner_->line, std::move(mail));
    return owner_->line->post(std::move(message));
  }
  // The same, under the name that a channel has for it.
  Posted try_send(T value) const { return post(std::move(value)); }
  // How many posts found the mailbox full, over all senders.
  std::uint64_t refused() const noexcept { return owner_->line->refused(); }

 private:
  friend class Mailbox<T>;
  using Line = std::shared_ptr<detail::TypedMailLine<T>>;

  class Delivery final : public Message {
   public:
    Delivery(Line line, std::unique_ptr<detail::Mail<T>> mail) noexcept
        : line_(std::move(line)), mail_(std::move(mail)) {}
    void deliver(Scheduler& scheduler) noexcept override {
      if (line_->box != nullptr) line_->box->arrived(scheduler, std::move(mail_));
    }

   private:
    Line line_;
    std::unique_ptr<detail::Mail<T>> mail_;
  };
  class LastSenderGone final : public Message {
   public:
    explicit LastSenderGone(Line line) noexcept : line_(std::move(line)) {}
    void deliver(Scheduler& scheduler) noexcept override {
      if (line_->box != nullptr) line_->box->senders_gone(scheduler);
    }

   private:
    Line line_;
  };
  // Dies with the last copy, on whatever thread that is; the mailbox hears of it by message.
  struct Owner {
    explicit Owner(Line l) : line(std::move(l)), farewell(std::make_unique<LastSenderGone>(line)) {}
    ~Owner() { line->inbox().post(std::move(farewell)); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    Line line;
    std::unique_ptr<Message> farewell;  // made while there was memory
  };

  explicit MailSender(std::shared_ptr<Owner> owner) noexcept : owner_(std::move(owner)) {}

  std::shared_ptr<Owner> owner_;
};

template <class T>
class Mailbox {
 public:
  // From a task. A capacity of zero is an error (Errc::bad_argument).
  explicit Mailbox(std::size_t capacity)
      : Mailbox(Scheduler::require("Making a mailbox"), capacity) {}
  // From outside of any task.
  Mailbox(Scheduler& scheduler, std::size_t capacity)
      : line_(std::make_shared<detail::TypedMailLine<T>>(scheduler.inbox(), capacity)) {
    line_->box = this;
  }
  ~Mailbox() {
    line_->close();
    line_->box = nullptr;
    fail_all();
    while (first_ != nullptr) static_cast<void>(take());
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // All senders of a mailbox are equal. One made after the last of the others was dropped opens the
  // mailbox again.
  MailSender<T> sender() {
    std::shared_ptr<Owner> owner = senders_.lock();
    if (owner == nullptr) {
      owner = std::make_shared<Owner>(line_);
      senders_ = owner;
      ++open_;
    }
    return MailSender<T>(std::move(owner));
  }

  class [[nodiscard("next does nothing until awaited: co_await box.next()")]] Next final
      : public SystemCall,
        public Waiter {
   public:
    using value_type = T;
    static constexpr CallName call_name{"next_mail"};
    explicit Next(Mailbox& box) noexcept : box_(box) {}
    Next(Next&& other) noexcept : SystemCall(), Waiter(), box_(other.box_) {}

    Answer start(Scheduler&, TaskRecord& asker) noexcept {
      if (answer(asker)) return Answer::now;
      enlist(asker);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { leave(); }
    void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override {
      wake(scheduler, *waiter.task);
    }

    // The steps of a call that waits beside others in a race (structure/combine.hpp).
    bool answer(TaskRecord&) noexcept {
      if (box_.first_ != nullptr) mail_ = box_.take();
      return mail_ != nullptr || box_.closed();
    }
    void enlist(TaskRecord& asker) noexcept { box_.waiters_.push(*this, asker); }
    void leave() noexcept { box_.waiters_.remove(*this); }
    void pass_on() noexcept {}

    T finish() {
      if (mail_ == nullptr) detail::throw_mailbox_closed();
      return std::move(mail_->value);
    }
    std::string describe() const override {
      return box_.open_ > 0 ? "a value in a mailbox" : "a value in a mailbox that has no sender";
    }
    static constexpr WaitKind wait_kind() noexcept { return WaitKind::external; }
    bool waits_for_outside() const noexcept override { return box_.open_ > 0; }

   private:
    friend class Mailbox;
    Mailbox& box_;
    std::unique_ptr<detail::Mail<T>> mail_;
  };
  // Awaited: the oldest value that nobody has taken.
  Next next() noexcept { return Next(*this); }
  // The same without waiting; nothing when the mailbox is empty.
  std::optional<T> try_next() {
    if (first_ == nullptr) return std::nullopt;
    return std::optional<T>(std::move(take()->value));
  }

  // The same as next and try_next, under the names that a channel has for them. A channel says its
  // end with an empty optional, a mailbox with Errc::mailbox_closed.
  Next recv() noexcept { return next(); }
  std::optional<T> try_recv() { return try_next(); }

  // Accepted and not taken yet, with what is still on its way.
  std::size_t size() const noexcept { return line_->waiting(); }
  // How many posts found the mailbox full.
  std::uint64_t refused() const noexcept { return line_->refused(); }

 private:
  friend class MailSender<T>;
  using Mail = detail::Mail<T>;
  using Owner = typename MailSender<T>::Owner;

  bool closed() const noexcept { return had_sender_gone_ && open_ == 0; }

  void arrived(Scheduler& scheduler, std::unique_ptr<Mail> mail) noexcept {
    if (Waiter* waiter = waiters_.pop()) {
      line_->give_back();
      static_cast<Next*>(waiter)->mail_ = std::move(mail);
      waiter->task->waiting_on()->on_settled(scheduler, *waiter);
      return;
    }
    Mail* added = mail.release();
    (last_ != nullptr ? last_->next : first_) = added;
    last_ = added;
  }
  void senders_gone(Scheduler&) noexcept {
    --open_;
    had_sender_gone_ = true;
    if (open_ == 0) fail_all();
  }
  // Those who wait go on with nothing, which finish() takes for the end.
  void fail_all() noexcept {
    while (Waiter* waiter = waiters_.pop()) {
      TaskRecord& task = *waiter->task;
      task.waiting_on()->on_settled(*Scheduler::owner(task), *waiter);
    }
  }
  std::unique_ptr<Mail> take() noexcept {
    std::unique_ptr<Mail> mail(std::exchange(first_, first_->next));
    if (first_ == nullptr) last_ = nullptr;
    line_->give_back();
    return mail;
  }

  std::shared_ptr<detail::TypedMailLine<T>> line_;
  std::weak_ptr<Owner> senders_;
  std::size_t open_ = 0;  // generations of senders whose end has not been heard of
  bool had_sender_gone_ = false;
  Mail* first_ = nullptr;
  Mail* last_ = nullptr;
  WaiterList waiters_;
};

}  // namespace tiffany
