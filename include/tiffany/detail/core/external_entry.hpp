// An external promise, as its scheduler knows it: something that may still hold a reference when
// the scheduler ends.
#pragma once

#include "tiffany/base/intrusive_list.hpp"

namespace tiffany {

class ExternalEntry {
 public:
  virtual void scheduler_gone() noexcept = 0;

 protected:
  ~ExternalEntry() = default;

 private:
  friend class IntrusiveList<ExternalEntry>;
  ExternalEntry* next = nullptr;
  ExternalEntry* prev = nullptr;
};

}  // namespace tiffany
