// The disk of the tests that behaves badly: see tiffany/wal/fault_disk.hpp.
#pragma once

#include "tiffany/wal/fault_disk.hpp"

namespace tiffany::wal::test {

using wal::FaultDisk;
using wal::Reboot;
using wal::WorldEnded;

}  // namespace tiffany::wal::test
