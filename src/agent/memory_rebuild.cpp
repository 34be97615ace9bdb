// The notes of a log: each result of the tool `remember` holds one as JSON.
#include <optional>

#include "agent/agent_run.hpp"
#include "agent/memory_parts.hpp"
#include "agent/memory_wire.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::agent {
namespace {

// None: the step failed, or the record is of no tool.
std::optional<std::string> result_in(const wal::RecordView& record) {
  const std::string payload = "{" + std::string(record.payload) + "}";
  JsonReader in(payload);
  std::optional<std::string> result;
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    const std::string_view value = in.raw();
    if (name == "result") result = std::string(value);
  }
  return result;
}

bool stands_for_another(const std::string& json) {
  return json.starts_with(R"({"$value":)") || json.starts_with(R"({"$encoded":)");
}

class Rebuild {
 public:
  Rebuild(Memory::Parts& parts, const Memory::ValueOf& value) : parts_(parts), value_(value) {}

  void take(const std::string& line) {
    const wal::RecordView record = wal::view_of(line);
    if (record.type != wal::RecordType::ToolResult) return;
    try {
      std::optional<std::string> result = result_in(record);
      if (!result) return;
      if (stands_for_another(*result)) {
        if (!value_) {
          ++report.unreadable;
          return;
        }
        result = value_(*result);
      }
      const auto end = from_json<ToolRecord>(*result);
      if (end.error) return;
      if (end.tool == kRememberTool) {
        Note note = from_json<RememberedText>(end.output).note;
        take_vector(end.kept, note);
        take_note(record, std::move(note));
      }
      if (end.tool == kRecallTool) take_recalled(record, from_json<RecalledTexts>(end.output));
    } catch (const Error& error) {
      if (error.code() == Errc::memory_failed) throw;
      ++report.unreadable;
    }
  }
  // When all notes are there: one may name another that comes later.
  void link() {
    for (const auto& [id, see] : links_) parts_.link(id, see);
  }

  Rebuilt report;

 private:
  // What cannot be read of it is left out: the note is found by its words.
  static void take_vector(const std::string& kept, Note& note) {
    if (kept.empty()) return;
    try {
      const auto read = from_json<KeptVector>(kept);
      const std::optional<std::string> bytes = from_base64(read.vector);
      if (!bytes || bytes->empty() || read.model.empty()) return;
      const std::vector<std::int8_t> vector(bytes->begin(), bytes->end());
      require_vector(read.model, vector);
      note.model = read.model;
      note.vector = vector;
    } catch (const Error&) {
      note.vector.clear();
    }
  }
  // A vector that is there stays: the order of the lines makes no difference.
  bool has_vector(const std::string& id, const Note& note) {
    Statement find(parts_.file,
                   "SELECT 1 FROM vectors v JOIN nodes n ON n.key = v.node "
                   "WHERE n.id = ? AND v.space = ?");
    return find.bind(id).bind(parts_.space_of(note.model, note.vector.size())).next();
  }
  void take_note(const wal::RecordView& record, Note note) {
    note.task = std::string(record.task);
    require_note(note);  // another tool may have had that name
    ++report.records;
    const std::string id = note_id(note.kind, note.text);
    Statement gone(parts_.file, "SELECT 1 FROM forgotten WHERE id = ? AND at_us >= ?");
    if (gone.bind(id).bind(note.made_us).next()) return;
    if (!note.vector.empty() && has_vector(id, note)) note.vector.clear();
    parts_.remember(note);
    ++report.remembered;
    links_.emplace_back(id, std::move(note.see));
  }
  void take_recalled(const wal::RecordView& record, const RecalledTexts& texts) {
    ++report.records;
    for (const RecalledText& each : texts.notes) {
      parts_.mark_recalled(record.task, each.text, texts.now_us);
    }
  }

  Memory::Parts& parts_;
  const Memory::ValueOf& value_;
  std::vector<std::pair<std::string, std::vector<std::string>>> links_;
};

}  // namespace

Rebuilt Memory::rebuild(std::span<const std::string> lines, const ValueOf& value) {
  const std::lock_guard turn(parts_->one_at_a_time);
  MemoryFile& file = parts_->file;
  Transaction transaction(file, Transaction::For::writing);
  file.run("DELETE FROM origins WHERE task <> ''");
  Rebuild rebuild(*parts_, value);
  for (const std::string& line : lines) rebuild.take(line);
  std::vector<std::int64_t> gone;
  std::vector<std::int64_t> kept;
  {
    Statement all(file, "SELECT key, EXISTS(SELECT 1 FROM origins WHERE node = key) FROM nodes");
    while (all.next()) (all.integer(1) != 0 ? kept : gone).push_back(all.integer(0));
  }
  for (const std::int64_t key : gone) parts_->remove(key);
  for (const std::int64_t key : kept) parts_->settle_times(key);
  rebuild.link();
  parts_->vectors_stale = true;
  transaction.commit();
  return rebuild.report;
}

}  // namespace tiffany::agent
