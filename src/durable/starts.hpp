// How tasks come to be.
#pragma once

#include <string>
#include <string_view>

#include "durable/hosted_task.hpp"
#include "durable/records.hpp"

namespace tiffany {

struct StartCall;

class Starts {
 public:
  explicit Starts(HostCore& host) noexcept : host_(host) {}
  // `id` is that of the options, or a fresh one, which nobody can have used before.
  Task<Uuid> start(std::string type, std::string arguments, Uuid id, StartOptions options);
  // A task in the table, of which the log knows nothing yet.
  HostedTask& add(const DurableType& type, const Uuid& id, const Uuid& parent);
  // What the start said besides: from its first record, or to be written there.
  void mark(HostedTask& entry, const records::Spawn& begun);
  // Arguments as they are in the record that is appended next. To be asked for before a task is
  // added: a codec may refuse them.
  struct Recorded {
    std::string text;
    std::string actor{};  // records::members_of
  };
  Recorded recorded(const std::string& arguments) const;
  // The first record of a task.
  void append_spawn(HostedTask& entry, const Recorded& arguments, wal::Level level,
                    wal::Ticket* ticket);
  // Throws Errc::bad_json for arguments that the type does not read.
  static void require_arguments(const DurableType& type, const std::string& arguments);
  // What interceptors say to a start: its attributes. Throws Errc::call_refused, and
  // Errc::bad_argument for attributes that cannot be.
  Attributes intercepted(StartCall& call) const;
  void require_not_retired(const Uuid& id, std::string_view what) const;

 private:
  std::int64_t end_of(Duration timeout) const noexcept;
  static records::Spawn::Marks marks_of(const HostedTask& entry);
  Task<void> begin_synced(HostedTask* entry, std::string arguments, Recorded recorded);
  HostedTask& enter(const DurableType& type, const Uuid& id, const std::string& arguments,
                    const StartOptions::Data& said, Recorded& in_log);
  // And was started in the same way.
  bool is_in_archive(const Uuid& id, const std::string& type, const std::string& arguments);
  void require_same_start(const HostedTask& before, const Uuid& id, const std::string& type,
                          const std::string& arguments);
  // Throws Errc::log_uncertain when damage of the log may have held a task that is not in it.
  void require_never_used(const Uuid& id) const;

  HostCore& host_;
};

}  // namespace tiffany
