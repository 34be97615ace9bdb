#include "durable/sqlite_store.hpp"

#include "durable/stores.hpp"

namespace tiffany {

std::shared_ptr<wal::StoreProvider> database_provider() {
  return std::make_shared<test::SqliteProvider>();
}
std::vector<std::string> database_lines(const std::shared_ptr<wal::Disk>& disk, const Uuid& task) {
  return test::Database::in_place_of(disk)->run(
      "SELECT line FROM records WHERE task=? ORDER BY seq", {task.text()});
}

}  // namespace tiffany
