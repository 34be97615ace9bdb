#include "channel.hpp"

#include "row.hpp"
#include "tiffany/tiffany.hpp"

namespace {

using tiffany::Receiver;
using tiffany::Sender;
using tiffany::Task;

Task<void> produce(Sender<std::uint64_t> sender, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) co_await sender.send(i);
}

Task<std::uint64_t> consume(Receiver<std::uint64_t> receiver) {
  std::uint64_t sum = 0;
  for (;;) {
    const auto value = co_await receiver.recv();
    if (!value) co_return sum;
    sum += *value;
  }
}

double ns_per_message(const bench::Suite& suite) {
  const std::uint64_t count = channel_row::messages(suite);
  tiffany::Scheduler scheduler(tiffany::Options().virtual_time());
  auto halves = tiffany::channel<std::uint64_t>(channel_row::kCapacity);
  std::uint64_t sum = 0;
  const double ns = bench::cpu_ns_of([&] {
    scheduler.spawn(produce, std::move(halves.sender), count);
    sum = tiffany::run_on(scheduler, consume(std::move(halves.receiver)));
  });
  bench::check(sum == channel_row::sum_of(count), "nothing is lost");
  return ns / static_cast<double>(count);
}

const bench::Row row("channel", "ns", bench::Weight::light, ns_per_message);

}  // namespace
