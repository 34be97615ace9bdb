// An external promise, as its scheduler knows it: something that may still hold a reference when
// the scheduler ends.
#pragma once

namespace tiffany {

class Scheduler;

class ExternalEntry {
 public:
  virtual void scheduler_gone() noexcept = 0;

 protected:
  ~ExternalEntry() = default;

 private:
  friend class Scheduler;
  ExternalEntry* next_ = nullptr;
  ExternalEntry* prev_ = nullptr;
};

}  // namespace tiffany
