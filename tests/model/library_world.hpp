// What the tasks of a generated program share when it runs on the real library, and how they say
// what happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/library_primitives.hpp"
#include "model/program.hpp"
#include "model/program_text.hpp"
#include "tiffany/tiffany.hpp"

namespace model {

using Lines = std::vector<std::string>;

// What the tasks of one run share.
class World {
 public:
  World(const Program& program, tiffany::Options options)
      : program_(program),
        sync(program.primitives),
        handles(program.tasks),
        futures(program.promises),
        promises(program.promises),
        scheduler(
            std::move(options).log_to([this](const tiffany::LogLine& line) { heard(line); })) {}

  void note(std::size_t task, const std::string& text) {
    lines.push_back(now_text() + " " + task_name(task) + " " + text);
  }
  void know(tiffany::TaskId id, std::size_t task) { labels_[id] = task; }
  std::string label(tiffany::TaskId id) const {
    if (!id) return "nobody";
    const auto found = labels_.find(id);
    return found == labels_.end() ? "t?" : task_name(found->second);
  }
  std::string text_of(const tiffany::CancelReason& reason) const {
    std::string out = std::string(name_of(reason.cause)) + " by " + label(reason.requester);
    if (reason.cause == tiffany::CancelCause::requested) out += ": " + reason.message;
    return out;
  }
  std::string text_of(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const tiffany::Cancelled& cancelled) {
      return "Cancelled(" + text_of(cancelled.reason()) + ")";
    } catch (const tiffany::TaskCancelled& cancelled) {
      return "TaskCancelled(" + label(cancelled.task()) + " " + text_of(*cancelled.reason()) + ")";
    } catch (const tiffany::ScopeCancelled& cancelled) {
      return "ScopeCancelled(" + text_of(cancelled.reason()) + ")";
    } catch (const tiffany::AllFailed& failed) {
      std::string out = "AllFailed(";
      for (const std::exception_ptr& one : failed.errors()) out += text_of(one) + ";";
      return out + ")";
    } catch (const tiffany::TasksFailed& failed) {
      std::string out = "TasksFailed(";
      for (const tiffany::TaskFailure& one : failed.failures()) {
        out += label(one.task) + " " + text_of(one.error) + ";";
      }
      return out + ")";
    } catch (const tiffany::DependencyFailed& failed) {
      return "DependencyFailed(" + text_of(failed.cause()) + ")";
    } catch (const tiffany::SupervisionFailed& failed) {
      return text_of(failed);
    } catch (const tiffany::SpawnDenied& denied) {
      const bool of_scope = denied.limit() == tiffany::SpawnDenied::Limit::tasks_of_scope;
      return std::string("SpawnDenied(") + (of_scope ? "scope " : "tasks ") +
             std::to_string(denied.used()) + " of " + std::to_string(denied.allowed()) + ")";
    } catch (const tiffany::Error& known) {
      return "Error " + std::to_string(static_cast<int>(known.code()));
    } catch (const std::exception& other) {
      return other.what();
    }
  }
  std::string text_of(const tiffany::SupervisionFailed& failed) const {
    std::string out = "SupervisionFailed(";
    for (const tiffany::ChildFailure& one : failed.history()) {
      out += one.child + " at " + std::to_string(one.when.time_since_epoch().count()) + " number " +
             std::to_string(one.times) + " " +
             (one.error != nullptr ? text_of(one.error) : "returned") + ";";
    }
    return out + ")";
  }
  std::string text_of(const tiffany::Outcome<int>& outcome) const {
    if (outcome.ok()) return "ok " + std::to_string(outcome.value());
    return (outcome.cancelled() ? "cancelled " : "failed ") + text_of(outcome.error());
  }
  std::string text_of_primitives() const {
    return sync.text([this](tiffany::TaskId id) { return label(id); });
  }
  const Program& program() const { return program_; }
  const std::map<tiffany::TaskId, std::size_t>& labels() const { return labels_; }

 private:
  // A failure that nobody looked at, or a supervisor that tells what it does.
  void heard(const tiffany::LogLine& line) {
    // A circle of waits is reported by the scheduler; tests/core/circles_test.cpp is about that.
    if (line.message.find("which nothing but a cancel can end") != std::string_view::npos) return;
    // So is a promise that failed unseen; tests/core/lost_errors_test.cpp is about that.
    if (line.message.starts_with("A promise was failed")) return;
    if (line.unseen_error != nullptr) {
      reported.push_back(label(line.task));
    } else {
      lines.push_back(now_text() + " " + label(line.task) + " logs");
    }
  }
  std::string now_text() const {
    return std::to_string(scheduler.now().time_since_epoch().count());
  }

  const Program& program_;
  std::map<tiffany::TaskId, std::size_t> labels_;

 public:
  Lines lines;
  bool teardown = false;  // only the destructor of the scheduler can end the tasks that are left
  Lines reported;         // the tasks whose failure nobody looked at
  SyncWorld sync;
  std::vector<tiffany::Handle<int>> handles;
  std::vector<tiffany::Future<int>> futures;
  std::vector<std::optional<tiffany::Promise<int>>> promises;
  tiffany::Scheduler scheduler;
};

// Where a statement runs: in which task, and inside which scope block.
struct Place {
  std::size_t task = 0;
  tiffany::Scope* scope = nullptr;
};

// Shows when a block's frame unwinds, and so that destructors run innermost first.
class Leaving {
 public:
  Leaving(World& world, std::size_t task, int block) : world_(world), task_(task), block_(block) {}
  ~Leaving() { world_.note(task_, "leaves b" + std::to_string(block_)); }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

 private:
  World& world_;
  std::size_t task_;
  int block_;
};

}  // namespace model
