#include "tiffany/observe/pal_sink.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::observe {

Task<void> feed(Pal* pal, PalSink* sink, PalSinkCounts* counts, PalFilter filter,
                PalSinkOptions options) {
  PalSubscription subscription = pal->subscribe(std::move(filter));
  for (;;) {
    const std::optional<PalFrame> frame = co_await subscription.next();
    if (!frame) co_return;
    try {
      const auto timed = co_await within(options.limit, sink->take(*frame));
      ++(timed.timed_out() ? counts->late : counts->given);
    } catch (const std::exception&) {  // counted, as the contract says
      ++counts->failed;
    }
  }
}

Task<void> PalLogSink::take(const PalFrame& frame) {
  static const log::Logger logger("tiffany::pal");
  if (frame.type == PalFrame::Type::snapshot) co_return;
  std::string stage;
  std::string message;
  std::string task;
  std::uint64_t seq = 0;
  std::uint64_t dropped = 0;
  JsonReader in(*frame.text);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "stage") {
      stage = in.string();
    } else if (name == "message") {
      message = in.string();
    } else if (name == "task_id") {
      task = in.string();
    } else if (name == "seq") {
      seq = in.unsigned_integer();
    } else if (name == "dropped") {
      dropped = in.unsigned_integer();
    } else {
      in.raw();
    }
  }
  if (frame.type == PalFrame::Type::lagged) {
    logger.warn("Events were missed: the log was slower than they came.", {{"dropped", dropped}});
    co_return;
  }
  logger.info(message.empty() ? stage : message,
              {{"stage", stage}, {"task_id", task}, {"seq", seq}});
}

}  // namespace tiffany::observe
