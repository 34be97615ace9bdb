// Logs and tasks from a shell: the whole of a program, or a part of one.
//
//   int main(int count, char** arguments) {
//     Registry types;
//     types.add("order", 1, order);
//     return durable_main(count, arguments, types);
//   }
//
// The program `tiffany` is this with no types. It reads every log, and can do to a task what needs
// none of its code; `task inspect`, `task replay` and `upgrade --check` need a program that has the
// types. Nothing here runs a task.
#pragma once

#include <memory>

#include "tiffany/durable/host.hpp"

namespace tiffany {

// 0: it is done, or all is well. 1: it is not, and standard error says why. 2: the command was not
// understood. 12: `wal verify` found damage. `codec` is that of the log; without one, encoded
// values are shown as what they are: "<encrypted, key k2, 120 bytes>".
int durable_main(int count, char** arguments, const Registry& types,
                 std::shared_ptr<const wal::PayloadCodec> codec = nullptr);

}  // namespace tiffany
