// SQLite as a log: a row a step, in WAL mode with synchronous=FULL. One transaction carries the
// rows of all tasks that wait, which is more than a program with a transaction a step would get.
#include <sqlite3.h>

#include "workloads.hpp"

namespace {

using namespace durable_rows;

class Database {
 public:
  explicit Database(const std::string& path) {
    bench::check(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, "the database can be made");
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE steps(task INTEGER, step INTEGER, result TEXT, PRIMARY KEY(task, step)) "
        "WITHOUT ROWID");
    prepare("INSERT INTO steps VALUES(?, ?, ?)", insert_);
    prepare("BEGIN IMMEDIATE", begin_);
    prepare("COMMIT", commit_);
  }
  ~Database() {
    for (sqlite3_stmt* each : {insert_, begin_, commit_}) sqlite3_finalize(each);
    sqlite3_close(db_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void commit(std::size_t first_task, std::size_t tasks, std::size_t step) {
    once(begin_);
    for (std::size_t i = 0; i < tasks; ++i) {
      sqlite3_bind_int64(insert_, 1, static_cast<sqlite3_int64>(first_task + i));
      sqlite3_bind_int64(insert_, 2, static_cast<sqlite3_int64>(step));
      sqlite3_bind_text(insert_, 3, "{\"result\":42}", -1, SQLITE_STATIC);
      once(insert_);
    }
    once(commit_);
  }

 private:
  void run(const char* sql) {
    bench::check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  }
  void prepare(const char* sql, sqlite3_stmt*& statement) {
    bench::check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK, sql);
  }
  static void once(sqlite3_stmt* statement) {
    bench::check(sqlite3_step(statement) == SQLITE_DONE, "a statement is done");
    sqlite3_reset(statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
};

double sequential(const bench::Suite& suite) {
  const Scratch scratch;
  Database database(scratch.path() + "/log.db");
  const std::size_t steps = sequential_steps(suite);
  const Stopwatch watch;
  for (std::size_t i = 0; i < steps; ++i) database.commit(1, 1, i);
  return static_cast<double>(steps) / watch.seconds();
}

double with(const bench::Suite& suite, std::size_t at_once) {
  const Scratch scratch;
  Database database(scratch.path() + "/log.db");
  const std::size_t waves = generations(suite, at_once);
  const Stopwatch watch;
  for (std::size_t wave = 0; wave < waves; ++wave) {
    for (std::size_t i = 0; i < kSteps; ++i) database.commit(wave * at_once, at_once, i);
  }
  return static_cast<double>(waves * kSteps * at_once) / watch.seconds();
}
double with_64(const bench::Suite& suite) { return with(suite, 64); }
double with_512(const bench::Suite& suite) { return with(suite, 512); }

using bench::Weight;
const bench::Row rows[] = {
    {"steps_sequential", "steps/s", Weight::light, sequential},
    {"steps_64", "steps/s", Weight::light, with_64},
    {"steps_512", "steps/s", Weight::light, with_512},
};

}  // namespace
