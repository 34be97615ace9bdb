#include "tiffany/core/system_call.hpp"

namespace tiffany {

void SystemCall::on_settled(Scheduler&, Waiter&) noexcept {}
void SystemCall::visit_waits(WaitVisitor&) const {}

}  // namespace tiffany
