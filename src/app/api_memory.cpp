// What agents know: skills, and the notes of the memory with the edges between them.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/agents.hpp"
#include "app/api.hpp"
#include "tiffany/agent/memory_tools.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

constexpr std::size_t kMostNotes = agent::MemoryLimits::kResults;
// A person waits: what the words find is better than nothing.
constexpr Duration kWaitForMeaning = std::chrono::seconds(3);

std::shared_ptr<agent::Memory> memory_of(const ApiCall& call) {
  std::shared_ptr<agent::Memory> memory = call.api.parts.agents.memory();
  if (memory == nullptr) {
    throw HttpError(404,
                    "The agents of this daemon have no memory: name a file as `memory` in the file "
                    "of the setting `agents`.");
  }
  return memory;
}

std::int64_t wall_us() { return World::current().wall_clock_us().value_or(0); }

void write_expiry(JsonWriter& out, std::int64_t expires_us) {
  if (expires_us > 0) write_time(out, "expires", expires_us);
}

void write_note(JsonWriter& out, const agent::Recalled& note) {
  out.begin_object();
  out.member("id", note.id);
  out.member("kind", note.kind);
  out.member("text", note.text);
  write_time(out, "made", note.made_us);
  write_expiry(out, note.expires_us);
  out.key("origins");
  out.begin_array();
  for (const agent::Origin& each : note.origins) {
    out.begin_object();
    out.member("task", each.task);
    out.member("step", each.step);
    write_time(out, "made", each.made_us);
    write_expiry(out, each.expires_us);
    out.end_object();
  }
  out.end_array();
  out.member("distance", note.distance);
  out.end_object();
}

void write_edges(JsonWriter& out, const std::vector<agent::MemoryEdge>& edges) {
  out.key("edges");
  out.begin_array();
  for (const agent::MemoryEdge& each : edges) {
    out.begin_object();
    out.member("from", each.from);
    out.member("to", each.to);
    out.member("kind", each.kind);
    out.end_object();
  }
  out.end_array();
}

// On a thread.
std::string notes_json(std::shared_ptr<agent::Memory> memory, agent::Query query,
                       bool without_vector) {
  const agent::Recollection found = memory->recall(query);
  std::vector<std::string> ids;
  for (const agent::Recalled& each : found.notes) ids.push_back(each.id);
  const std::vector<agent::MemoryEdge> edges = memory->edges(ids);
  const agent::MemoryCounts counts = memory->counts();
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.key("notes");
    out.begin_array();
    for (const agent::Recalled& each : found.notes) write_note(out, each);
    out.end_array();
    write_edges(out, edges);
    out.member("all_notes", counts.notes);
    out.member("all_edges", counts.edges);
    // Why is not for everybody who may look: it names the endpoint.
    if (without_vector) out.member("without_vector", "The endpoint of embeddings gave no vector.");
    out.end_object();
  });
}

// Empty: there is no such note.
std::string note_json(std::shared_ptr<agent::Memory> memory, std::string id) {
  const std::optional<agent::Recalled> note = memory->find(id);
  if (!note) return "";
  const std::vector<agent::MemoryEdge> edges = memory->edges({id});
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.key("note");
    write_note(out, *note);
    write_edges(out, edges);
    out.end_object();
  });
}

bool forget_note_there(std::shared_ptr<agent::Memory> memory, std::string id, std::int64_t now_us) {
  return memory->forget(id, now_us);
}

[[noreturn]] void no_such_note(const std::string& id) {
  throw HttpError(404, "There is no note \"" + id + "\".");
}

}  // namespace

namespace calls {

Task<Response> list_skills(ApiCall& call) {
  const agent::Skills& skills = call.api.parts.agents.skills();
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.key("skills");
                          out.begin_array();
                          for (const agent::Skill& each : skills.all()) {
                            out.begin_object();
                            out.member("name", each.name);
                            out.member("description", each.about);
                            out.member("digest", each.digest);
                            out.key("tools");
                            out.begin_array();
                            for (const auto& tool : each.tools) out.value(tool.name);
                            out.end_array();
                            out.member("used", skills.used(each));
                            out.end_object();
                          }
                          out.end_array();
                          out.end_object();
                        }));
}

Task<Response> list_memory(ApiCall& call) {
  const std::shared_ptr<agent::Memory> memory = memory_of(call);
  agent::Query query;
  query.text = call.query("query").value_or("");
  if (const std::optional<std::string> kind = call.query("kind")) query.kinds.push_back(*kind);
  query.most = call.query_number("limit", 20, kMostNotes);
  query.depth = static_cast<int>(call.query_number("depth", 0, agent::MemoryLimits::kDepth));
  query.now_us = wall_us();
  if (query.most == 0) throw HttpError(400, "limit is 1 to 100.");
  const std::shared_ptr<agent::Embedder> embedder = call.api.parts.agents.embedder();
  agent::Meaning meaning;
  bool missing = false;
  if (embedder != nullptr) {
    Task<agent::Meaning> asking = agent::meaning_of(embedder, query.text);
    auto come = co_await within(kWaitForMeaning, std::move(asking));
    missing = come.timed_out();
    if (!missing) meaning = std::move(come).value();
  }
  missing = missing || !meaning.missing.empty();
  query.vector = std::move(meaning.vector);
  query.model = std::move(meaning.model);
  std::string found = co_await offload(notes_json, memory, query, missing);
  co_return json_answer(200, std::move(found));
}

Task<Response> show_note(ApiCall& call) {
  const std::shared_ptr<agent::Memory> memory = memory_of(call);
  const std::string id = call.path("note");
  std::string found = co_await offload(note_json, memory, id);
  if (found.empty()) no_such_note(id);
  co_return json_answer(200, std::move(found));
}

Task<Response> forget_note(ApiCall& call) {
  const std::shared_ptr<agent::Memory> memory = memory_of(call);
  const std::string id = call.path("note");
  const std::int64_t now_us = wall_us();
  const bool was_there = co_await offload(forget_note_there, memory, id, now_us);
  if (!was_there) no_such_note(id);
  co_return json_answer(200, json_text([&](JsonWriter& out) {
                          out.begin_object();
                          out.member("name", id);
                          out.member("done", "forget");
                          out.end_object();
                        }));
}

}  // namespace calls

}  // namespace tiffany::app
