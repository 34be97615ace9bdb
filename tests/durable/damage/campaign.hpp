// Logs of durable tasks are damaged in every way that a directory can be, and opened. What must be
// true afterwards: no step that may happen once at most has happened twice, and what was
// acknowledged is there, or somebody is told otherwise.
//
// Each sample takes one of some logs, damages a copy of it, and lets two processes work with it,
// one after the other. Then the log is repaired, or the loss is accepted, and another process works
// with what is left.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durable/damage/world.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::damage {

class Campaign {
 public:
  explicit Campaign(std::uint64_t seed) : random_(seed, "damage") {
    for (int i = 0; i < kLogs; ++i) logs_.push_back(make_log());
  }

  static constexpr std::array<const char*, 16> kNames = {
      "a file is deleted",      "a file is cut off",
      "two files are swapped",  "a file is duplicated",
      "a block is zeroed",      "bits are flipped",
      "bytes are overwritten",  "a value is removed or changed",
      "a hint is removed",      "a fifo is in the directory",
      "the layout is wrong",    "the clock is set back",
      "a sync fails",           "the lock is removed",
      "a sector is unreadable", "the power goes in the middle of it"};
  static constexpr int kKinds = static_cast<int>(kNames.size());

  // Empty, or what went wrong.
  std::string once() {
    kind_ = sample_ % kKinds;
    const std::size_t which = random_.below(logs_.size());
    ++sample_;
    what_ = "sample " + std::to_string(sample_ - 1) + ", log " + std::to_string(which) + ", " +
            kNames[static_cast<std::size_t>(kind_)];
    World world = logs_[which];
    world.disk = std::make_shared<FaultDisk>(world.disk->contents());
    std::string wrong = kind_ == 12   ? failing_sync(world)
                        : kind_ == 13 ? two_owners(world)
                        : kind_ == 15 ? power_cut(world)
                                      : damaged(world);
    ++counts[static_cast<std::size_t>(kind_)];
    return wrong;
  }
  const std::string& what() const noexcept { return what_; }

  std::array<std::uint64_t, kNames.size()> counts{};
  std::uint64_t said = 0;      // samples in which somebody was told
  std::uint64_t refused = 0;   // samples whose log could not be opened
  std::uint64_t repaired = 0;  // and of these and others, repaired
  std::uint64_t accepted = 0;

 private:
  static constexpr int kLogs = 12;
  using Contents = std::map<std::string, std::string>;

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

  // Some processes, each of which is killed somewhere, closes its log, or goes with the power.
  World make_log() {
    World world(below(2) == 0 ? wal::Layout::journal : wal::Layout::files,
                static_cast<int>(2 + below(4)));
    const std::uint64_t lives = 1 + below(3);
    for (std::uint64_t i = 0; i < lives; ++i) {
      const bool whole = below(2) == 0;
      world.live(below(2) == 0, whole ? World::kToTheEnd : 50 + below(1500));
      // Not after the last: what says how far the log was synced is a hint that goes with the
      // power, and damage that comes right after that cannot always be told from an unfinished
      // write (docs/17-wal.md).
      const bool power = below(3) == 0 && i + 1 < lives;
      if (power) world.disk = world.disk->reboot(Reboot::lost());
    }
    world.disk = std::make_shared<FaultDisk>(world.disk->contents());
    return world;
  }

  // ---- Damage between two processes ----

  std::string damaged(World& world) {
    Contents contents = world.disk->contents();
    switch (kind_) {
      case 0:
        if (std::string* file = pick(contents)) contents.erase(name_of_file(contents, file));
        break;
      case 1:
        if (std::string* file = pick(contents)) file->resize(below(used(*file) + 1));
        break;
      case 2: {
        std::string* const a = pick(contents);
        std::string* const b = pick(contents);
        if (a != nullptr && a != b) std::swap(*a, *b);
        break;
      }
      case 3:
        duplicate(contents);
        break;
      case 4:
        if (std::string* file = pick(contents)) {
          const std::size_t block = below(2) == 0 ? 4096 : 512;
          const std::size_t at = below(used(*file) / block + 1) * block;
          overwrite(*file, at, std::string(block, '\0'));
        }
        break;
      case 5:
        if (std::string* file = pick(contents)) {
          for (std::uint64_t i = 0, n = 1 + below(3); i < n && !file->empty(); ++i) {
            char& byte = (*file)[below(used(*file) + 1) % file->size()];
            byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1u << below(8)));
          }
        }
        break;
      case 6:
        if (std::string* file = pick(contents)) {
          std::string noise(1 + below(600), '\0');
          for (char& byte : noise) byte = static_cast<char>(below(256));
          overwrite(*file, below(used(*file) + 1), noise);
        }
        break;
      case 7:
        change_value(contents);
        break;
      case 8:
        contents.erase(std::string("wal/") + (below(2) == 0 ? "synced" : "sizes"));
        break;
      default:
        break;
    }
    world.disk = std::make_shared<FaultDisk>(contents);
    if (kind_ == 9) add_fifo(world, contents);
    if (kind_ == 10) {
      const bool journal = world.layout == wal::Layout::journal;
      world.layout = journal ? wal::Layout::files : wal::Layout::journal;
    }
    if (kind_ == 11) world.wall -= static_cast<std::int64_t>(1 + below(100)) * 3'600'000'000;
    if (kind_ == 14) {
      if (std::string* file = pick(contents)) {
        world.disk->make_unreadable(name_of_file(contents, file), below(used(*file) + 1));
      }
    }
    return two_lives_and_a_repair(world);
  }

  std::string two_lives_and_a_repair(World& world) {
    bool told = false;
    for (int i = 0; i < 2; ++i) {
      const Life life =
          world.live(below(2) == 0, below(4) == 0 ? 200 + below(800) : World::kToTheEnd);
      if (std::string wrong = world.complaint(life); !wrong.empty()) return wrong;
      told = told || life.said();
      if (!life.opened) ++refused;
    }
    said += told ? 1 : 0;
    if (kind_ == 9 || kind_ == 10) return {};  // there is nothing to repair
    const std::uint64_t way = below(3);
    if (way == 0) return {};
    return way == 1 ? after_repair(world) : after_acceptance(world);
  }

  std::string after_repair(World& world) {
    wal::RepairReport report;
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      report = co_await wal::repair(*world.disk, kDirectory, world.layout);
    });
    if (std::string wrong = untyped(error); !wrong.empty()) return wrong;
    if (error != nullptr) return {};  // it cannot be repaired, and that was said
    ++repaired;
    world.disk = world.disk->reboot(Reboot::lost());
    const wal::LogIndex index = wal::scan(*world.disk, kDirectory, world.layout);
    if (!index.damage.empty()) return "damage after the repair: " + index.damage[0].text();
    // Ids that neither the log nor the report can name were given up: whoever starts them again
    // knows that.
    for (int i = 0; i < 2; ++i) {
      const Life life = world.live(below(2) == 0, World::kToTheEnd, report.unnamed);
      if (!life.opened) return "a repaired log cannot be opened: " + life.refusals.front();
      if (std::string wrong = world.complaint(life); !wrong.empty()) {
        return "after the repair: " + wrong + "\n" + report.text();
      }
    }
    return {};
  }

  std::string after_acceptance(World& world) {
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      co_await wal::accept_loss(*world.disk, kDirectory, world.layout, "a campaign");
    });
    if (std::string wrong = untyped(error); !wrong.empty()) return wrong;
    if (error != nullptr) return {};
    ++accepted;
    const wal::LogIndex index = wal::scan(*world.disk, kDirectory, world.layout);
    if (index.unresolved() != nullptr) return "not accepted: " + index.unresolved()->text();
    const Life life = world.live(false, World::kToTheEnd, true);
    return world.complaint(life);
  }

  // ---- What happens under a process ----

  // A sync fails; the next process finds what the cache shows; then the power goes.
  std::string failing_sync(World& world) {
    const std::size_t operation = below(60);
    world.disk->fail(operation, below(2) == 0);
    Life life = world.live(true);
    if (std::string wrong = world.complaint(life); !wrong.empty()) return wrong;
    said += life.said() ? 1 : 0;
    world.disk = world.disk->reboot(Reboot::kept());
    life = world.live(below(2) == 0, below(2) == 0 ? 100 + below(600) : World::kToTheEnd);
    if (std::string wrong = world.complaint(life); !wrong.empty()) {
      return "with the cache: " + wrong;
    }
    world.disk = world.disk->reboot(below(2) == 0 ? Reboot::lost() : Reboot::seeded(below(1000)));
    life = world.live();
    if (std::string wrong = world.complaint(life); !wrong.empty()) {
      return "after the power cut: " + wrong;
    }
    if (!life.opened || !life.recovery.notes.empty()) {
      for (const std::string& note : life.recovery.notes) {
        if (note.find("unfinished write") == std::string::npos) return "called damage: " + note;
      }
      if (!life.opened) return "cannot be opened: " + life.refusals.front();
    }
    return {};
  }

  std::string power_cut(World& world) {
    world.disk->stop_after(below(80));
    Life life = world.live();
    world.disk = world.disk->reboot(Reboot::seeded(below(1'000'000)));
    for (int i = 0; i < 2; ++i) {
      life = world.live(i == 0);
      if (std::string wrong = world.complaint(life); !wrong.empty()) return wrong;
      if (!life.opened) return "cannot be opened: " + life.refusals.front();
    }
    return {};
  }

  // The lock is removed under a process that goes on; another opens the log, and both have clients.
  std::string two_owners(World& world) {
    Life first;
    Life second;
    const std::size_t wait = below(120);
    const std::exception_ptr error = world.run([&]() -> Task<void> {
      ledger = &world.books;
      const Registry types = all_types();
      Host old(types, world.log_options());
      first.recovery = co_await old.open();
      first.opened = true;
      co_await scope([&](Scope& both) -> Task<void> {
        both.spawn(&Campaign::client_of, &world, &old, &first, 1);
        for (std::size_t i = 0; i < wait; ++i) co_await yield();
        world.disk->remove_lock("wal/lock");
        Host other(types, world.log_options());
        try {
          second.recovery = co_await other.open();
          second.opened = true;
          co_await world.client(&other, &second, false, 20);
          co_await world.client(&other, &second, false, 1);
        } catch (const Error& e) {
          second.refusals.push_back(e.what());
        }
      });
    });
    if (std::string wrong = untyped(error); !wrong.empty()) return wrong;
    for (const Life* life : {&first, &second}) {
      if (std::string wrong = world.complaint(*life); !wrong.empty()) return wrong;
    }
    said += first.refusals.empty() ? 0 : 1;
    world.disk = std::make_shared<FaultDisk>(world.disk->contents());
    const Life life = world.live();
    if (std::string wrong = world.complaint(life); !wrong.empty()) return "afterwards: " + wrong;
    if (!life.opened) return "afterwards it cannot be opened: " + life.refusals.front();
    return {};
  }
  static Task<void> client_of(World* world, Host* host, Life* life, int first) {
    try {
      co_await world->client(host, life, false, first);
    } catch (const Error& e) {
      life->refusals.push_back(e.what());
    }
  }

  // ---- Helpers ----

  static std::string untyped(const std::exception_ptr& error) {
    if (error == nullptr) return {};
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      return {};
    } catch (const std::exception& e) {
      return std::string("an error without a type: ") + e.what();
    }
  }
  // A segment, or the file of a task.
  std::string* pick(Contents& contents) {
    std::vector<std::string*> files;
    for (auto& [path, bytes] : contents) {
      if (path.ends_with(".journal") || path.ends_with(".wal")) files.push_back(&bytes);
    }
    return files.empty() ? nullptr : files[below(files.size())];
  }
  static std::string name_of_file(const Contents& contents, const std::string* file) {
    for (const auto& [path, bytes] : contents) {
      if (&bytes == file) return path;
    }
    return {};
  }
  // Without the zeros at the end.
  static std::size_t used(const std::string& file) {
    const std::size_t last = file.find_last_not_of('\0');
    return last == std::string::npos ? 0 : last + 1;
  }
  static void overwrite(std::string& file, std::size_t at, const std::string& with) {
    if (at >= file.size()) return;
    const std::size_t size = std::min(with.size(), file.size() - at);
    file.replace(at, size, with, 0, size);
  }
  void duplicate(Contents& contents) {
    std::string* const from = pick(contents);
    std::string* const over = pick(contents);
    if (from == nullptr) return;
    if (below(2) == 0) {
      *over = *from;
      return;
    }
    const std::string path = name_of_file(contents, from);
    const std::string bytes = *from;
    if (path.ends_with(".wal")) {
      contents["wal/" + id_of(static_cast<int>(1 + below(9))).text() + ".wal"] = bytes;
      return;
    }
    std::uint32_t last = 0;
    for (const auto& [name, ignored] : contents) {
      if (name.ends_with(".journal")) last = wal::number_of_segment(name.substr(4));
    }
    contents["wal/" + wal::segment_name(last + 1 + static_cast<std::uint32_t>(below(2)))] = bytes;
  }
  void change_value(Contents& contents) {
    std::vector<std::string> values;
    for (const auto& [path, bytes] : contents) {
      if (path.starts_with("wal/values/")) values.push_back(path);
    }
    if (values.empty()) return;
    const std::string path = values[below(values.size())];
    std::string& bytes = contents.at(path);
    switch (below(3)) {
      case 0:
        contents.erase(path);
        break;
      case 1:
        bytes.resize(below(bytes.size()));
        break;
      default:
        bytes[below(bytes.size())] = '!';
        break;
    }
  }
  void add_fifo(World& world, Contents& contents) {
    static constexpr std::array<const char*, 7> kPlaces = {"wal/00000001.journal",
                                                           "wal/00000077.journal",
                                                           "wal/synced",
                                                           "wal/sizes",
                                                           "wal/base",
                                                           "wal/accepted",
                                                           "wal/next"};
    std::string path = kPlaces[below(kPlaces.size())];
    if (below(3) == 0) {
      if (std::string* file = pick(contents)) path = name_of_file(contents, file);
    }
    world.disk->make_fifo(path);
  }

  Random random_;
  std::vector<World> logs_;
  int kind_ = 0;
  int sample_ = 0;
  std::string what_;
};

}  // namespace tiffany::damage
