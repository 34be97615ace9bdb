#include "tiffany/app/command_line.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "app/commands.hpp"
#include "base/shown_text.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/engine/run.hpp"

namespace tiffany {
namespace {

using detail::shown;

constexpr std::string_view kHelp = R"(usage: tiffany <command> <directory> ...

Reading, while the log is in use or not:
  wal verify DIR                 check every line and every value; 12 when anything is damaged or
                                 missing
  wal repair --dry-run DIR       what cannot be read, and which tasks that touches
  wal export DIR [TASK] --to D   write <task>.wal and its long values into directory D, for one task
                                 or all, also from the archive
  wal tail DIR [COUNT]           the last records (20), by their times
  task list DIR                  every task and how it stands
  task show DIR TASK             the records of one task
  task inspect DIR TASK          what it would do next        (needs its code)
  task replay DIR TASK           does the code do what the log says? (needs its code)
  upgrade --check DIR            inspect everything unfinished (needs the code)

Writing, while no process has the log open:
  wal compact DIR [--keep-bytes N] [--keep-days N]
                                 ended tasks go into the archive, which keeps so much; needs no room
                                 on the disk with --keep-bytes 0, which drops them
  wal repair DIR                 write every good record anew, quarantine the tasks that may have
                                 lost some, and put the damaged files aside; the report says what
                                 was given up
  restore BACKUP DATA            a copy of a backup, checked before and after, as the data of a
                                 daemon: a directory that is empty or not there
  wal accept-loss DIR WHY        leave the damage, and let unknown ids be started again
  task pause DIR TASK            it is not resumed at the next start
  task resume DIR TASK
  task cancel DIR TASK [WHY]     it unwinds when it is resumed
  task kill DIR TASK [WHY]       it has ended
  task retry DIR TASK STEP       forget its failure, and everything from that step on
  task fork DIR TASK STEP        another task with its history up to that step
  task signal DIR TASK NAME JSON
  task complete DIR PROMISE JSON keep a promise
)";

Task<int> command(const Registry* types, app::Words words) {
  const std::string what = words.take("command");
  if (what == "wal") co_return co_await app::wal_command(words);
  if (what == "task") co_return co_await app::task_command(types, words);
  if (what == "restore") co_return co_await app::restore_command(words);
  if (what != "upgrade") throw app::Refused{"there is no command " + what};
  const bool only_look = words.option("--check");
  const std::string directory = words.take("directory");
  words.end();
  if (!only_look) throw app::Refused{"upgrade only checks, so say --check"};
  const UpgradeCheck check = co_await check_upgrade(*types, app::log_at(directory));
  app::print(check.text());
  co_return check.diverge == 0 ? 0 : 1;
}

Task<void> run_command(const Registry* types, app::Words words, int* status) {
  std::string refused;
  std::string failed;
  try {
    *status = co_await command(types, words);
  } catch (const app::Refused& refusal) {
    refused = shown(refusal.why);
  } catch (const std::exception& error) {
    failed = shown(error.what());
  }
  if (!refused.empty()) {
    std::fprintf(stderr, "tiffany: %s. `tiffany help` says what there is.\n", refused.c_str());
    *status = 2;
  }
  if (!failed.empty()) {
    std::fprintf(stderr, "tiffany: %s\n", failed.c_str());
    *status = 1;
  }
}

}  // namespace

int durable_main(int count, char** arguments, const Registry& types,
                 std::shared_ptr<const wal::PayloadCodec> codec) {
  app::codec_of_logs() = std::move(codec);
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first.empty() || first == "help" || first == "--help" || first == "-h") {
    app::print(kHelp);
    return first.empty() ? 2 : 0;
  }
  int status = 1;
  const int ran = run(run_command(&types, app::Words(count, arguments), &status));
  return ran != 0 ? ran : status;
}

}  // namespace tiffany
