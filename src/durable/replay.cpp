#include "durable/replay.hpp"

#include <utility>

#include "tiffany/base/assert.hpp"
#include "tiffany/durable/value.hpp"

namespace tiffany::detail {
namespace {

std::string place_of(const std::source_location& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}

}  // namespace

std::string Command::text() const {
  return kind + " \"" + id + "\" (record " + std::to_string(seq) + ", from " + place + ")";
}

void Replay::load(std::vector<Command> commands, bool lenient) {
  recorded_ = commands.empty() ? nullptr : std::make_unique<Recorded>();
  if (recorded_ != nullptr) recorded_->commands = std::move(commands);
  lenient_ = lenient;
}

void Replay::clear() noexcept {
  TIFFANY_ASSERT(left_over() == nullptr,
                 "commands of the log were forgotten that the code has not made");
  // The memory goes, too: most tasks wait for a long time after their replay.
  recorded_.reset();
}

Command* Replay::next() noexcept {
  if (recorded_ == nullptr) return nullptr;
  std::vector<Command>& all = recorded_->commands;
  std::size_t& at = recorded_->next;
  while (at < all.size() && all[at].used) ++at;
  return at < all.size() ? &all[at] : nullptr;
}

// Only for newer code, and only over what is left: a history of n commands in another order costs
// n * n / 2 in the worst case.
Command* Replay::find(std::string_view kind, const std::string& id) noexcept {
  for (std::size_t i = recorded_->next; i < recorded_->commands.size(); ++i) {
    Command& each = recorded_->commands[i];
    if (!each.used && each.kind == kind && each.id == id) return &each;
  }
  return nullptr;
}

const Command* Replay::left_over() noexcept {
  if (next() == nullptr) return nullptr;
  for (std::size_t i = recorded_->next; i < recorded_->commands.size(); ++i) {
    const Command& each = recorded_->commands[i];
    if (!each.used && !(lenient_ && each.kind == "version")) return &each;
  }
  return nullptr;
}

// Kind and name first, then the arguments, then the type: the first that differs is the one that a
// reader of the sentence can act on.
Replay::Match Replay::match(std::string_view kind, const std::string& id, const std::string& hash,
                            std::string_view shape, const std::source_location& site) {
  Match found;
  Command* recorded = next();
  if (recorded == nullptr) return found;
  if (recorded->kind != kind || recorded->id != id) {
    recorded = lenient_ ? find(kind, id) : nullptr;
  }
  if (recorded == nullptr) {
    found.older = kind == "version";
    const Command* const other = found.older ? nullptr : left_over();
    if (other != nullptr) {
      found.difference = "The log says " + other->text() + ", the code asks for " +
                         std::string(kind) + " \"" + id + "\" (" + place_of(site) + ").";
    }
    return found;
  }
  if (recorded->hash != hash) {
    found.difference =
        "The log says " + recorded->kind + " \"" + recorded->id + "\" with the arguments " +
        recorded->hash + " (record " + std::to_string(recorded->seq) + ", from " + recorded->place +
        "), the code asks for it with the arguments " + hash + " (" + place_of(site) + ").";
    return found;
  }
  if (!shapes_fit(recorded->shape, shape)) {
    found.difference = "The log says " + recorded->text() + " for a value of the kind " +
                       recorded->shape + ", the code waits for one of the kind " +
                       std::string(shape) + " (" + place_of(site) + ").";
    return found;
  }
  TIFFANY_ASSERT(!recorded->used, "a command of the log was matched twice");
  recorded->used = true;
  ++compared_;
  found.recorded = recorded;
  return found;
}

}  // namespace tiffany::detail
