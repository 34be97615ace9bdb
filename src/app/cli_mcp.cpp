// The command `mcp`.
#include "app/cli.hpp"
#include "app/mcp_server.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::app {

namespace verb {

Task<int> mcp(Cli& cli) {
  World::current().processes().ignore_broken_pipes();
  ByteStream in(Descriptor(0), false);
  ByteStream out(Descriptor(1), false);
  CliDoor door(cli);
  McpServer server(door, in, out, cli.given.has("--approve"));
  co_await server.run();
  in.release().release();  // the two belong to the process
  out.release().release();
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app
