// A store over tables, here of memory: commits that are shared, fail, or belong to somebody else.
#include "tiffany/wal/table_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tiffany/tiffany.hpp"

namespace tiffany::wal {
namespace table_store_test {

struct Tables {
  std::map<std::tuple<int, std::string, std::uint64_t>, std::string> rows;
  std::uint64_t epoch = 0;
  bool fails = false;
  bool puts_fail = false;
};

class MapStore final : public TableStore {
 public:
  explicit MapStore(Tables& tables)
      : TableStore("a map", ++tables.epoch, true), tables_(tables), now_(tables.rows) {
    load(0, false);
  }

 private:
  void put(Table table, const std::string& key, std::uint64_t number,
           const std::string& text) override {
    if (tables_.puts_fail) throw Error(Errc::io_failed, "The row was not taken.");
    now_[{static_cast<int>(table), key, number}] = text;
  }
  std::vector<std::string> get(Table table, const std::string& key) const override {
    std::vector<std::string> texts;
    for (const auto& [at, text] : now_) {
      if (std::get<0>(at) == static_cast<int>(table) && std::get<1>(at) == key)
        texts.push_back(text);
    }
    return texts;
  }
  std::vector<std::string> keys(Table table) const override {
    std::vector<std::string> all;
    for (const auto& [at, text] : now_) {
      if (std::get<0>(at) != static_cast<int>(table)) continue;
      if (all.empty() || all.back() != std::get<1>(at)) all.push_back(std::get<1>(at));
    }
    return all;
  }
  void remove(Table table, const std::string& key, std::uint64_t first,
              std::uint64_t end) override {
    std::erase_if(now_, [&](const auto& row) {
      const auto& [kind, name, number] = row.first;
      return kind == static_cast<int>(table) && name == key && number >= first && number < end;
    });
  }
  bool owned() const noexcept override { return tables_.epoch == epoch(); }
  void commit() override {
    if (tables_.fails) throw Error(Errc::log_sealed, "The connection was lost.");
    tables_.rows = now_;
  }
  void roll_back() noexcept override { now_ = tables_.rows; }
  void closed() noexcept override {}

  Tables& tables_;
  decltype(Tables::rows) now_;  // with what is not committed
};

class TableStoreTest : public testing::Test {
 protected:
  template <class F>
  static void run_virtual(F program) {
    Scheduler scheduler(Options().virtual_time());
    auto handle = scheduler.spawn(program);
    scheduler.run();
    ASSERT_EQ(handle.state(), TaskState::completed);
  }
  static std::uint64_t append(TableStore& store, StoredTask& task, RecordType type,
                              Synced* synced) {
    const std::string id = task.id.text();
    return store.append(task, Entry{type, id, R"("name":"a")"}, Level::sync, synced);
  }
  const Uuid id = Uuid::derived(Uuid(), "task");
  Tables tables;
};

TEST_F(TableStoreTest, AppendsOfATurnShareACommitAndAreReadByTheNextClaim) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    Synced first;
    Synced second;
    EXPECT_EQ(append(*store, task, RecordType::Spawn, &first), 1U);
    EXPECT_EQ(append(*store, task, RecordType::Command, &second), 2U);
    EXPECT_TRUE(tables.rows.empty());
    co_await first.event.wait();
    EXPECT_TRUE(second.event.is_set());
    EXPECT_EQ(store->counters().syncs, 1U);
    const auto next = std::make_shared<MapStore>(tables);
    EXPECT_EQ(next->list().size(), 1U);
    EXPECT_EQ(next->read(*next->list()[0]).size(), 2U);
    store->abandon();
    next->abandon();
  });
}

TEST_F(TableStoreTest, ACheckpointTakesThePlaceOfEverythingButTheFirstRecord) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    for (const RecordType type : {RecordType::Spawn, RecordType::Command, RecordType::Command,
                                  RecordType::Checkpoint, RecordType::Command}) {
      append(*store, task, type, nullptr);
    }
    const std::vector<std::string> lines = store->read(task);
    EXPECT_EQ(lines.size(), 3U);
    EXPECT_EQ(view_of(lines[1]).type, RecordType::Checkpoint);
    co_await store->close();
  });
}

TEST_F(TableStoreTest, ASealedStoreSaysSoAsOftenAsItIsAsked) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    tables.fails = true;
    append(*store, task, RecordType::Spawn, nullptr);
    for (int i = 0; i < 3; ++i) {
      bool thrown = false;
      try {
        co_await store->close();
      } catch (const Error&) {
        thrown = true;
      }
      EXPECT_TRUE(thrown);
    }
  });
}

TEST_F(TableStoreTest, ARowThatIsNotTakenSealsTheStore) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    Synced first;
    append(*store, task, RecordType::Spawn, &first);
    tables.puts_fail = true;
    EXPECT_THROW(append(*store, task, RecordType::Command, nullptr), Error);
    tables.puts_fail = false;
    EXPECT_THROW(append(*store, task, RecordType::Command, nullptr), Error);
    co_await first.event.wait();
    EXPECT_NE(first.error, nullptr);
    EXPECT_TRUE(tables.rows.empty());
  });
}

TEST_F(TableStoreTest, OneThatWasClaimedBySomebodyElseIsSealedByItsNextAppend) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    const auto other = std::make_shared<MapStore>(tables);
    EXPECT_THROW(append(*store, task, RecordType::Spawn, nullptr), Error);
    EXPECT_TRUE(store->sealed());
    other->abandon();
    co_return;
  });
}

TEST_F(TableStoreTest, WhoWaitsIsToldWhenTheSchedulerStops) {
  Synced synced;
  Scheduler scheduler(Options().virtual_time());
  std::shared_ptr<MapStore> store;
  scheduler.spawn([&]() -> Task<void> {
    store = std::make_shared<MapStore>(tables);
    append(*store, store->add(id), RecordType::Spawn, &synced);
    co_return;
  });
  scheduler.step();
  scheduler.shutdown("the end");
  EXPECT_TRUE(synced.event.is_set());  // committed, or told that it was not
  EXPECT_EQ(synced.error == nullptr, !tables.rows.empty());
}

TEST_F(TableStoreTest, ACommitThatFailsIsUnknownToAllAndSealsTheStore) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    tables.fails = true;
    Synced first;
    Synced second;
    append(*store, task, RecordType::Spawn, &first);
    append(*store, task, RecordType::Command, &second);
    co_await second.event.wait();
    EXPECT_EQ(append_end(first.error), AppendEnd::unknown);
    EXPECT_EQ(append_end(second.error), AppendEnd::unknown);
    EXPECT_TRUE(store->sealed());
    EXPECT_THROW(append(*store, task, RecordType::Command, nullptr), Error);
  });
}

TEST_F(TableStoreTest, AnEarlierClaimIsFenced) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    StoredTask& task = store->add(id);
    Synced synced;
    append(*store, task, RecordType::Spawn, &synced);
    const auto next = std::make_shared<MapStore>(tables);
    co_await synced.event.wait();
    EXPECT_EQ(append_end(synced.error), AppendEnd::fenced);
    EXPECT_TRUE(next->list().empty());
    next->abandon();
  });
}

TEST_F(TableStoreTest, AValueThatIsNotThereIsDamage) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    const std::string value = "\"" + std::string(200'000, 'x') + "\"";
    std::string payload;
    store->add_value(payload, value);
    EXPECT_LT(payload.size(), 200U);
    EXPECT_EQ(store->value_of(payload), value);
    EXPECT_EQ(co_await store->remove_unused_values(), 1U);
    try {
      store->value_of(payload);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::log_damaged);
    }
    store->abandon();
  });
}

TEST_F(TableStoreTest, OnlyTheYoungestIdsThatHaveLeftTheArchiveAreKept) {
  run_virtual([&]() -> Task<void> {
    auto store = std::make_shared<MapStore>(tables);
    std::vector<Uuid> ids;
    for (int i = 0; i < 5; ++i) ids.push_back(Uuid::derived(id, std::to_string(i)));
    EXPECT_EQ(co_await store->retire(ids, 3), 2U);
    std::size_t known = 0;
    for (const Uuid& each : ids) known += store->retired(each) ? 1 : 0;
    EXPECT_EQ(known, 3U);
    store->abandon();
  });
}

}  // namespace table_store_test
}  // namespace tiffany::wal
