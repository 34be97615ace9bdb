// A disk that takes no time and keeps nothing, to see what a step costs the processor.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

namespace durable_rows {

class NullFile final : public tiffany::wal::DiskFile {
 public:
  tiffany::Task<void> write(std::uint64_t, std::string_view) override { co_return; }
  tiffany::Task<void> sync() override { co_return; }
  void note(std::uint64_t, std::string_view) noexcept override {}
};
class NullContent final : public tiffany::wal::DiskContent {
 public:
  std::string_view bytes() const noexcept override { return {}; }
};
class NullLock final : public tiffany::wal::DiskLock {};

class NullDisk final : public tiffany::wal::Disk {
 public:
  std::vector<std::string> list(const std::string&) override { return {}; }
  void make_directory(const std::string&) override {}
  std::unique_ptr<tiffany::wal::DiskFile> open(const std::string&) override {
    return std::make_unique<NullFile>();
  }
  std::unique_ptr<tiffany::wal::DiskContent> read(const std::string&) override {
    return std::make_unique<NullContent>();
  }
  bool exists(const std::string&) override { return false; }
  tiffany::Task<void> rename(std::string, std::string) override { co_return; }
  tiffany::Task<void> remove(std::string) override { co_return; }
  tiffany::Task<void> sync_directory(std::string) override { co_return; }
  std::unique_ptr<tiffany::wal::DiskLock> lock(const std::string&, const std::string&,
                                               std::string&) override {
    return std::make_unique<NullLock>();
  }
};

inline tiffany::Task<void> with_null_disk(tiffany::Registry types, std::string type, int steps) {
  tiffany::wal::LogOptions options("nowhere");
  options.disk = std::make_shared<NullDisk>();
  tiffany::Host host(types, options);
  co_await host.open();
  const tiffany::Uuid id = co_await host.start(type, steps);
  co_await host.result<int>(id);
  co_await host.close();
}

}  // namespace durable_rows
