// A host as those see it who look at it, and copies of its log while it is in use.
#include "durable/durable_world.hpp"
#include "tiffany/durable/inspect.hpp"
#include "tiffany/wal/verify.hpp"

namespace tiffany {
namespace host_view_test {

using namespace std::chrono_literals;

Task<int> slow_number() {
  co_await sleep(1h);
  co_return 7;
}
Durable<int> visit(Flow& flow, std::string who) {
  auto timer = co_await flow.timer(24h);
  auto answer = co_await flow.promise<int>("answer");
  auto slow = co_await flow.begin_step("slow", slow_number);
  const int got = co_await answer;
  co_return got + co_await slow + static_cast<int>(who.size());
}
Durable<std::string> echo(Flow& flow, std::string text) {
  co_return co_await flow.step("say", [&] { return text; });
}

Durable<std::string> parent_of_echo(Flow& flow) {
  auto child = co_await flow.spawn<std::string>("hears");
  co_return co_await child;
}
Durable<std::string> hears(Flow& flow) {
  auto word = co_await flow.begin_signal<std::string>("word");
  co_return co_await word;
}

struct Told : HostWatcher {
  void recorded(const Uuid& task, const wal::Entry& record, wal::Level level) noexcept override {
    lines += std::string(wal::name_of(record.type)) + " " + std::to_string(record.seq) +
             (level == wal::Level::sync ? "!" : "") + "; ";
    last = task;
  }
  std::string lines;
  Uuid last;
};

class HostView : public DurableWorld {
 protected:
  HostView() {
    types_ = [] {
      Registry types;
      types.add("visit", 1, visit);
      types.add("echo", 1, echo);
      types.add("parent", 1, parent_of_echo);
      types.add("hears", 1, hears);
      return types;
    };
  }
};
TIFFANY_ON_EVERY_LAYOUT(HostView);

TEST_P(HostView, SaysWhatATaskWaitsForAndWhichPromisesAreOpen) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("visit", "ann");
    co_await sleep(1s);
    const std::vector<DurableWait> waits = host.waits(id);
    EXPECT_EQ(waits.size(), 3U);
    if (waits.size() == 3) {
      EXPECT_EQ(waits[0].kind, "timer");
      EXPECT_GT(waits[0].due, 0);
      EXPECT_EQ(waits[1].name, "answer#1");
      EXPECT_EQ(waits[2].kind, "step");
      EXPECT_TRUE(waits[2].awaited);
      EXPECT_EQ(waits[2].attempts, 1);
      EXPECT_NE(waits[2].place.find("host_view_test.cpp:"), std::string::npos) << waits[2].place;
    }
    const std::vector<OpenPromise> open = host.promises();
    EXPECT_EQ(open.size(), 1U);
    EXPECT_EQ(open.at(0).task, id);
    EXPECT_EQ(open.at(0).name, "answer#1");
    EXPECT_EQ(open.at(0).id, waits.at(1).id);
    const std::optional<OpenPromise> one = host.promise(open.at(0).id);
    EXPECT_TRUE(one && one->task == id && one->name == "answer#1");
    EXPECT_EQ(one ? one->since : -1, open.at(0).since);
    EXPECT_FALSE(host.promise(id)) << "that is a task";
    const Uuid asked[] = {Uuid(), id};
    EXPECT_EQ(host.promises_of(asked).size(), 1U);
    EXPECT_EQ(host.promises_of(asked).at(0).id, open.at(0).id);
    EXPECT_TRUE(host.promises_of(std::span(asked, 1)).empty()) << "of no task";
    EXPECT_EQ(host.counts()[DurableStatus::running], 1U);
    EXPECT_EQ(host.beginning_with(id.text().substr(0, 8)).size(), 1U);
    EXPECT_EQ(host.beginning_with("zz").size(), 0U);
    EXPECT_EQ(host.beginning_with("").size(), 1U);
    co_await host.pause(id);
    EXPECT_TRUE(host.waits(id).empty()) << "its code is not here";
    EXPECT_EQ(host.promises().size(), 1U) << "it can still be kept";
    EXPECT_TRUE(host.promise(open.at(0).id)) << "it can still be kept";
    co_await host.close();
  });
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.promises().size(), 1U) << "of a task that is paused";
    EXPECT_EQ(host.promises_of(std::span(&id, 1)).size(), 1U) << "of a task that is paused";
    const Uuid promise = host.promises().at(0).id;
    const std::optional<OpenPromise> one = host.promise(promise);
    EXPECT_TRUE(one && one->task == id && one->name == "answer#1");
    EXPECT_TRUE(co_await host.complete(promise, 5));
    EXPECT_TRUE(host.promises().empty());
    EXPECT_TRUE(host.promises_of(std::span(&id, 1)).empty());
    EXPECT_FALSE(host.promise(promise)) << "it was kept";
    co_await host.resume(id);
    EXPECT_EQ(co_await host.result<int>(id), 15);
    EXPECT_EQ(host.counts()[DurableStatus::completed], 1U);
    EXPECT_TRUE(host.waits(id).empty());
    co_await host.close();
  });
}

TEST_P(HostView, TheFirstPromisesOfManyAreThoseOfTheWholeList) {
  const auto whole_list_begins_with_them = [](const Host& host) {
    const std::vector<OpenPromise> all = host.promises();
    EXPECT_EQ(all.size(), 20U);
    for (std::size_t most = 0; most <= all.size() + 1; ++most) {
      const std::vector<OpenPromise> first = host.promises(most);
      ASSERT_EQ(first.size(), std::min(most, all.size()));
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].id, all[i].id);
    }
  };
  live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 20; ++i) co_await host.start("visit", "guest " + std::to_string(i));
    co_await sleep(1s);
    whole_list_begins_with_them(host);
    for (const OpenPromise& each : host.promises(7)) co_await host.pause(each.task);
    whole_list_begins_with_them(host);
  });
}

TEST_P(HostView, AWaitForAChildIsOfTheKindChildAndHasItsId) {
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("parent");
    co_await sleep(1s);
    const std::vector<DurableWait> waits = host.waits(id);
    EXPECT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits.at(0).kind, "child");
    const std::vector<DurableWait> below = host.waits(waits.at(0).id);
    EXPECT_EQ(below.size(), 1U);
    EXPECT_EQ(below.at(0).kind, "signal");
    co_await host.signal(waits.at(0).id, "word", std::string("x"));
    EXPECT_EQ(co_await host.result<std::string>(id), "x");
    co_await host.close();
  });
}

TEST_P(HostView, TheBeginningOfATaskIsKnownInEveryLifeAndInTheArchive) {
  Uuid id;
  std::int64_t began = 0;
  wall_ = 5'000'000;
  live([&](Host& host) -> Task<void> {
    co_await sleep(3s);
    id = co_await host.start("echo", "x");
    co_await host.result<std::string>(id);
    began = host.info(id)->began;
    EXPECT_EQ(began, 8'000'000);
    co_await host.close();
  });
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->began, began);
    co_await host.compact();
    EXPECT_EQ(host.info(id)->began, began);
    EXPECT_EQ(host.records(id).size(), 3U) << "of the archive";
    EXPECT_EQ(host.records(id, 2).size(), 1U);
    EXPECT_EQ(host.records(id, 0, 2).size(), 2U);
    co_await host.close();
  });
}

TEST_P(HostView, RecordsComePageByPageFromBehindANumber) {
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("echo", "x");
    co_await host.result<std::string>(id);
    std::string seen;
    std::uint64_t after = 0;
    for (;;) {
      const std::vector<std::string> page = host.records(id, after, 1);
      if (page.empty()) break;
      const wal::RecordView view = wal::view_of(page.front());
      after = view.seq;
      seen += std::string(view.type_name) + " ";
    }
    EXPECT_EQ(seen, "Spawn StepEnd TaskExit ");
    EXPECT_THROW(host.records(Uuid()), Error);
    co_await host.close();
  });
}

TEST_P(HostView, AWatcherIsToldOfEveryRecordInTheOrderOfTheLog) {
  Told told;
  host_options.watcher = &told;
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("echo", "x");
    co_await host.result<std::string>(id);
    EXPECT_EQ(told.lines, "Spawn 1!; StepEnd 2!; TaskExit 3!; ");
    EXPECT_EQ(told.last, id);
    co_await host.close();
  });
}

TEST_P(HostView, ABackupTakenUnderLoadHasEverythingThatWasAcknowledgedBefore) {
  constexpr int kTasks = 60;
  std::vector<Uuid> before;
  const std::string copy = directory_ + "/copy/wal";
  live([&](Host& host) -> Task<void> {
    for (int i = 0; i < kTasks; ++i) {
      before.push_back(co_await host.start("echo", std::string(i % 20 == 0 ? 100'000 : 10, 'x')));
      if (i == kTasks / 2) co_await host.compact();
    }
    // Others go on meanwhile.
    const auto busy = [](Host* of) -> Task<void> {
      for (int i = 0; i < 50; ++i) co_await of->start("echo", "meanwhile");
    };
    auto load = spawn(busy, &host);
    const wal::BackupReport report = co_await host.backup(copy);
    co_await load;
    EXPECT_GT(report.files, 1U);
    EXPECT_GT(report.bytes, 100'000U);
    std::string refused;
    try {
      co_await host.backup(copy);
    } catch (const Error& error) {
      refused = error.what();
    }
    EXPECT_NE(refused.find("empty directory"), std::string::npos) << refused;
  });
  const auto disk = wal::system_disk();
  const wal::Verification sound = wal::verify(*disk, copy);
  EXPECT_TRUE(sound.sound()) << sound.faults.front();
  // The copy is opened in the place of the log.
  std::filesystem::rename(directory_ + "/wal", directory_ + "/gone");
  std::filesystem::rename(copy, directory_ + "/wal");
  live([&](Host& host) -> Task<void> {
    EXPECT_TRUE(recovery.notes.empty() || recovery.quarantined == 0) << recovery.text();
    for (const Uuid& id : before) {
      EXPECT_EQ((co_await host.result<std::string>(id)).front(), 'x');
    }
    co_await host.close();
  });
}

}  // namespace host_view_test
}  // namespace tiffany
