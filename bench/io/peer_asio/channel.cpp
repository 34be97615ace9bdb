// boost::asio::experimental::channel, which is the one for a single thread.
#include "channel.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "row.hpp"

namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using Channel = asio::experimental::channel<void(boost::system::error_code, std::uint64_t)>;

asio::awaitable<void> produce(Channel& channel, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) co_await channel.async_send({}, i, use_awaitable);
}

asio::awaitable<void> consume(Channel& channel, std::uint64_t count, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < count; ++i) sum += co_await channel.async_receive(use_awaitable);
}

double ns_per_message(const bench::Suite& suite) {
  const std::uint64_t count = channel_row::messages(suite) / 5;  // slow
  asio::io_context context(1);
  Channel channel(context, channel_row::kCapacity);
  std::uint64_t sum = 0;
  const double ns = bench::cpu_ns_of([&] {
    asio::co_spawn(context, produce(channel, count), asio::detached);
    asio::co_spawn(context, consume(channel, count, sum), asio::detached);
    context.run();
  });
  bench::check(sum == channel_row::sum_of(count), "nothing is lost");
  return ns / static_cast<double>(count);
}

const bench::Row row("channel", "ns", bench::Weight::light, ns_per_message);

}  // namespace
