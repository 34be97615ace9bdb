#include "row.hpp"

int main(int argc, char** argv) {
  bench::Row::run_all(bench::Suite(argc, argv, bench::Cores::all));
}
