// A workload in a file of its own. Defining a Row at namespace scope enters it into its program;
// all programs that are made of rows have the same main(), in rows_main.cpp.
//
//   double ns_per_message(const bench::Suite& suite) { ... }
//   const bench::Row row("channel", "ns", bench::Weight::light, ns_per_message);
#pragma once

#include "bench_support.hpp"

namespace bench {

class Row {
 public:
  using Run = double (*)(const Suite& suite);

  Row(const char* name, const char* unit, Weight weight, Run run) noexcept
      : name_(name), unit_(unit), weight_(weight), run_(run), next_(first_) {
    first_ = this;
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  static void run_all(const Suite& suite) {
    for (const Row* row = first_; row != nullptr; row = row->next_) {
      suite.run(row->name_, row->unit_, row->weight_, [&] { return row->run_(suite); });
    }
  }

 private:
  static inline const Row* first_ = nullptr;

  const char* name_;
  const char* unit_;
  Weight weight_;
  Run run_;
  const Row* next_;
};

}  // namespace bench
