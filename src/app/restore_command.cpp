// restore: a backup becomes the data of a daemon.
#include <cerrno>
#include <string>

#include "app/commands.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/wal/backup.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/verify.hpp"

namespace tiffany::app {
namespace {

class FirstEntry final : public WorldFiles::EntryVisitor {
 public:
  bool on_entry(const char* name, mode_t) override {
    const std::string_view text = name;
    if (text != "." && text != "..") found = text;
    return found.empty();
  }
  std::string found;
};

// Nothing of another daemon may be mixed with what is restored.
void require_empty(const std::string& directory) {
  FirstEntry first;
  os_world().files().list(directory.c_str(), first);
  if (first.found.empty()) return;
  throw Error(Errc::bad_argument,
              "A backup is restored into a directory that is empty or not "
              "there, and " +
                  directory + " has " + first.found + ". Choose another.");
}

void make_data_directory(const std::string& directory) {
  WorldFiles& files = os_world().files();
  if (files.make_directory(directory.c_str()) != 0 && errno != EEXIST) {
    throw IoError(errno, "make the directory", directory);
  }
  if (files.change_mode(directory.c_str(), 0700) != 0) {
    throw IoError(errno, "change the mode of", directory);
  }
}

// True: every record and every value can be read.
bool is_sound(wal::Disk& disk, const std::string& directory, wal::Verification& found) {
  found = wal::verify(disk, directory);
  for (const std::string& fault : found.faults) print(fault + "\n");
  return found.sound();
}

}  // namespace

Task<int> restore_command(Words words) {
  constexpr int kDamaged = 12;  // as of the commands on a daemon
  const std::string backup = words.take("directory of the backup");
  const std::string data = words.take("directory of the data");
  words.end();
  require_empty(data);
  const std::string from = backup + "/wal";
  const wal::LogOptions options = log_at(from);
  wal::Verification found;
  if (!is_sound(*options.disk, from, found)) {
    print("The backup is damaged, and nothing was copied. `wal repair " + from +
          "` mends what can be mended.\n");
    co_return kDamaged;
  }
  make_data_directory(data);
  const std::string to = data + "/wal";
  const wal::BackupReport copied = co_await wal::copy_log(options.disk.get(), from, to);
  wal::Verification again;
  if (!is_sound(*options.disk, to, again) || again.index.records != found.index.records) {
    print("The copy in " + to + " is not what the backup is: remove it, and look at the disk.\n");
    co_return kDamaged;
  }
  co_await options.disk->sync_directory(data);
  print(std::to_string(copied.files) + " files, " + std::to_string(copied.bytes) + " bytes, " +
        std::to_string(again.index.records) + " records. To go on with them: serve --data " + data +
        "\n");
  co_return 0;
}

}  // namespace tiffany::app
