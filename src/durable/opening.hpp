// Opening a log: everything in it that has not ended goes on, a bounded number at a time.
#pragma once

#include <string>
#include <string_view>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Opening {
 public:
  explicit Opening(HostCore& host) noexcept : host_(host) {}
  // Host::open.
  Task<Recovery> open();
  // Reads the log and runs nothing.
  void open_to_look();
  // Nothing of that task runs in this host, because its log is damaged.
  void quarantine(HostedTask& entry, std::string why);
  void note_divergence(const std::string& text);

 private:
  void note_found();
  void draw_seed();
  bool prepare(HostedTask& entry);
  bool prepare_readable(HostedTask& entry);
  void read_first(HostedTask& entry);
  Task<void> resume_all();
  bool had_begun(const HostedTask& entry);
  void note(const HostedTask& entry, std::string_view what);

  HostCore& host_;
  Recovery recovery_;
};

}  // namespace tiffany
