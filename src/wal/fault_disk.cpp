#include "tiffany/wal/fault_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "tiffany/base/random.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::wal {
namespace {

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

struct FaultDisk::Write {
  std::uint64_t at = 0;
  std::string bytes;
  bool doomed = false;  // a sync has failed that should have saved it
};

struct FaultDisk::Node {
  std::string name;  // the last that it had
  std::string synced;
  std::string now;
  std::vector<Write> cache;

  static void apply(std::string& to, std::uint64_t at, std::string_view bytes) {
    if (to.size() < at + bytes.size()) to.resize(at + bytes.size(), '\0');
    to.replace(at, bytes.size(), bytes);
  }

  // What is written over is not lost any more: its pages are dirty again.
  void replace_doomed(std::uint64_t at, std::uint64_t size) {
    std::vector<Write> left;
    for (Write& write : cache) {
      const std::uint64_t end = write.at + write.bytes.size();
      if (!write.doomed || end <= at || write.at >= at + size) {
        left.push_back(std::move(write));
        continue;
      }
      if (write.at < at) left.push_back({write.at, write.bytes.substr(0, at - write.at), true});
      if (end > at + size) {
        left.push_back({at + size, write.bytes.substr(at + size - write.at), true});
      }
    }
    cache = std::move(left);
  }

  std::string survives(Reboot::Kind kind, Random& random, std::uint64_t& budget) const {
    if (kind == Reboot::Kind::lost) return synced;
    std::string found = synced;
    const std::uint64_t manner = kind == Reboot::Kind::torn ? 3 : random.below(4);
    std::uint64_t left = budget;
    if (kind == Reboot::Kind::seeded) {
      std::uint64_t all = 0;
      for (const Write& write : cache) all += write.bytes.size();
      left = manner == 0 ? 0 : manner == 1 ? all : random.below(all + 1);
    }
    for (const Write& write : cache) {
      if (manner == 2) {
        some_pages(found, write, random);
        continue;
      }
      const std::uint64_t part = std::min<std::uint64_t>(left, write.bytes.size());
      apply(found, write.at, std::string_view(write.bytes).substr(0, part));
      left -= part;
    }
    if (kind == Reboot::Kind::torn) budget = left;
    return found;
  }
  static void some_pages(std::string& to, const Write& write, Random& random) {
    for (std::uint64_t at = write.at; at < write.at + write.bytes.size();) {
      const std::uint64_t end = std::min(at / kPage * kPage + kPage, write.at + write.bytes.size());
      if (random.below(2) == 0) {
        apply(to, at, std::string_view(write.bytes).substr(at - write.at, end - at));
      }
      at = end;
    }
  }
};
// A name that comes, goes, or changes.
struct FaultDisk::Change {
  std::string directory;
  std::string from;
  std::string to;
  std::shared_ptr<Node> node;

  void apply(Names& names) const {
    if (!from.empty()) names.erase(from);
    if (!to.empty()) names[to] = node;
  }
};

class FaultDisk::Handle final : public DiskFile {
 public:
  Handle(FaultDisk& disk, std::shared_ptr<Node> node) : disk_(disk), node_(std::move(node)) {
    disk_.most_open = std::max(disk_.most_open, ++disk_.open_);
  }
  ~Handle() override { --disk_.open_; }

  Task<void> write(std::uint64_t at, std::string_view bytes) override {
    co_await yield();
    if (disk_.begin("write " + node_->name)) {
      if (disk_.halfway_) put(at, bytes.substr(0, bytes.size() / 2));
      throw IoError(ENOSPC, "write to", node_->name);
    }
    put(at, bytes);
    disk_.end();
  }
  Task<void> sync() override {
    co_await yield();
    if (disk_.begin("sync " + node_->name)) {
      for (Write& write : node_->cache) write.doomed = true;
      throw IoError(EIO, "sync", node_->name);
    }
    std::vector<Write> doomed;
    for (Write& write : node_->cache) {
      if (write.doomed) {
        doomed.push_back(std::move(write));
      } else {
        Node::apply(node_->synced, write.at, write.bytes);
      }
    }
    node_->cache = std::move(doomed);
    disk_.end();
  }
  void note(std::uint64_t at, std::string_view bytes) noexcept override {
    try {
      if (disk_.begin("note " + node_->name)) return;
      put(at, bytes);
      disk_.end();
    } catch (const WorldEnded&) {
    }
  }

 private:
  void put(std::uint64_t at, std::string_view bytes) {
    Node::apply(node_->now, at, bytes);
    node_->replace_doomed(at, bytes.size());
    node_->cache.push_back({at, std::string(bytes)});
  }
  FaultDisk& disk_;
  std::shared_ptr<Node> node_;
};

class FaultDisk::Content final : public DiskContent {
 public:
  explicit Content(std::string bytes) : bytes_(std::move(bytes)) {}
  Content(std::string bytes, std::uint64_t bad) : bytes_(std::move(bytes)) {
    if (bad >= bytes_.size()) return;
    const std::size_t size = std::min<std::size_t>(4096, bytes_.size() - bad);
    bytes_.replace(bad, size, std::string(size, '\0'));
    unreadable_.push_back({bad, size, IoError(EIO, "read", "a sector").what()});
  }
  std::string_view bytes() const noexcept override { return bytes_; }
  const std::vector<Unreadable>& unreadable() const noexcept override { return unreadable_; }

 private:
  std::string bytes_;
  std::vector<Unreadable> unreadable_;
};

class FaultDisk::Lock final : public DiskLock {
 public:
  Lock(FaultDisk& disk, std::string path, std::size_t owner)
      : disk_(disk), path_(std::move(path)), owner_(owner) {}
  ~Lock() override {
    if (Lock::held()) disk_.held_.erase(path_);
  }
  bool held() noexcept override {
    const auto found = disk_.held_.find(path_);
    return found != disk_.held_.end() && found->second.owner == owner_;
  }

 private:
  FaultDisk& disk_;
  std::string path_;
  std::size_t owner_;
};

FaultDisk::FaultDisk() = default;
FaultDisk::FaultDisk(const std::map<std::string, std::string>& contents) {
  for (const auto& [path, bytes] : contents) put(path, bytes);
}
FaultDisk::~FaultDisk() = default;

void FaultDisk::make_fifo(const std::string& path) {
  put(path, std::string());
  fifos_.insert(path);
}

std::map<std::string, std::string> FaultDisk::contents() const {
  std::map<std::string, std::string> all;
  for (const auto& [path, node] : names_) all[path] = node->now;
  return all;
}

void FaultDisk::put(const std::string& path, std::string bytes) {
  auto node = std::make_shared<Node>();
  node->name = path;
  node->now = node->synced = std::move(bytes);
  names_[path] = synced_names_[path] = node;
}

std::string& FaultDisk::bytes_of(const std::string& path) { return names_.at(path)->now; }

std::uint64_t FaultDisk::unsynced() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, node] : names_) {
    for (const Write& write : node->cache) bytes += write.bytes.size();
  }
  return bytes;
}

std::shared_ptr<FaultDisk> FaultDisk::reboot(const Reboot& how) const {
  if (how.kind == Reboot::Kind::kept) return next_process();
  Random random(how.number, "reboot");
  Names names = synced_names_;
  const std::uint64_t chance = random.below(4);  // of the names: none, the first, some, all
  std::uint64_t first = cache_.empty() ? 0 : random.below(cache_.size() + 1);
  for (const Change& change : cache_) {
    const bool by_chance = chance == 0   ? false
                           : chance == 1 ? first-- > 0
                           : chance == 2 ? random.below(2) == 0
                                         : true;
    if (how.kind == Reboot::Kind::lost) break;
    if (how.kind == Reboot::Kind::seeded && !by_chance) {
      if (chance == 1) break;
      continue;
    }
    change.apply(names);
  }
  auto disk = std::make_shared<FaultDisk>();
  std::uint64_t budget = how.number;
  for (const auto& [path, node] : names) {
    disk->put(path, node->survives(how.kind, random, budget));
  }
  return disk;
}

std::shared_ptr<FaultDisk> FaultDisk::next_process() const {
  auto disk = std::make_shared<FaultDisk>();
  std::map<const Node*, std::shared_ptr<Node>> copies;
  const auto copy = [&](const std::shared_ptr<Node>& node) {
    std::shared_ptr<Node>& own = copies[node.get()];
    if (own == nullptr && node != nullptr) own = std::make_shared<Node>(*node);
    return own;
  };
  for (const auto& [path, node] : names_) disk->names_[path] = copy(node);
  for (const auto& [path, node] : synced_names_) disk->synced_names_[path] = copy(node);
  disk->cache_ = cache_;
  for (Change& change : disk->cache_) change.node = copy(change.node);
  return disk;
}

std::vector<std::string> FaultDisk::list(const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& [path, node] : names_) {
    if (parent_of(path) == directory) found.push_back(path.substr(directory.size() + 1));
  }
  return found;
}

std::unique_ptr<DiskFile> FaultDisk::open(const std::string& path) {
  if (ended_) throw WorldEnded();
  require_file(path);
  if (!names_.contains(path)) {
    change("open " + path, {parent_of(path), {}, path, std::make_shared<Node>()});
  }
  return std::make_unique<Handle>(*this, names_.at(path));
}

std::unique_ptr<DiskContent> FaultDisk::read(const std::string& path) {
  if (!names_.contains(path)) throw IoError(ENOENT, "open", path);
  require_file(path);
  const auto bad = unreadable_.find(path);
  if (bad == unreadable_.end()) return std::make_unique<Content>(names_.at(path)->now);
  return std::make_unique<Content>(names_.at(path)->now, bad->second);
}

Task<void> FaultDisk::rename(std::string from, std::string to) {
  co_await yield();
  if (!names_.contains(from)) throw IoError(ENOENT, "rename", from);
  change("rename " + from + " to " + to, {parent_of(to), from, to, names_.at(from)});
}

Task<void> FaultDisk::remove(std::string path) {
  co_await yield();
  if (!names_.contains(path)) throw IoError(ENOENT, "remove", path);
  change("remove " + path, {parent_of(path), path, {}, nullptr});
}

Task<void> FaultDisk::sync_directory(std::string path) {
  co_await yield();
  if (begin("sync_directory " + path)) throw IoError(EIO, "sync", path);
  std::vector<Change> others;
  for (const Change& change : cache_) {
    change.directory == path ? change.apply(synced_names_) : others.push_back(change);
  }
  cache_ = std::move(others);
  end();
}

std::unique_ptr<DiskLock> FaultDisk::lock(const std::string& path, const std::string& about,
                                          std::string& holder) {
  const auto held = held_.find(path);
  if (held != held_.end() && locks) {
    holder = held->second.about;
    return nullptr;
  }
  held_[path] = Held{about, ++owners_};
  return std::make_unique<Lock>(*this, path, owners_);
}

void FaultDisk::require_file(const std::string& path) const {
  if (fifos_.contains(path)) throw IoError(ESPIPE, "use", path + ", which is no regular file");
}
bool FaultDisk::begin(std::string what) {
  if (ended_) throw WorldEnded();
  did_.push_back(std::move(what));
  if (stop_ == 2 * (did_.size() - 1)) end_world();
  return fail_ == did_.size() - 1;
}
void FaultDisk::end() {
  if (stop_ == 2 * (did_.size() - 1) + 1) end_world();
}
void FaultDisk::end_world() {
  ended_ = true;
  throw WorldEnded();
}
void FaultDisk::change(std::string what, Change change) {
  if (begin(std::move(what))) throw IoError(EIO, "change", change.to);
  change.apply(names_);
  if (change.node != nullptr) change.node->name = change.to;
  cache_.push_back(std::move(change));
  end();
}

}  // namespace tiffany::wal
