// A process that forks supervisors for one program, so that a command costs a fork and not one more
// exec. It owns nothing: when the forker is killed, the supervisors that it forked go on, and the
// program calls `tiffany-run begin` or another forker.
//
// A request is one connection to the socket `forker` in the directory of all commands: a
// ForkRequest in JSON, a line break, the CommandSpec in JSON, the end. The answer is a byte
// (exec::kBegun, kTaken, kOver, kRefused) and, with kBegun when the command has ended, with kOver
// at once, the text of exit.json; with kRefused a sentence. Then the end.
#pragma once

#include <string>

namespace tiffany::supervisor {

// Returns when the forker listens, or when another one does. The forker ends with the process that
// called tiffany-run, and when nothing was asked of it for ten seconds.
int listen(const std::string& directory);

}  // namespace tiffany::supervisor
