// Updates as a checkpoint has them: those without an answer, and the last answers.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/flow_state.hpp"
#include "durable/updates.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::detail {

std::string Updates::waiting_json() const {
  std::string json;
  JsonWriter out(json);
  bool any = false;
  const auto write = [&](const KnownUpdate& update) {
    any = true;
    out.begin_array();
    out.value(update.id);
    out.value(update.name);
    out.raw_value(update.request);
    out.end_array();
  };
  out.begin_array();
  for (const UpdatePtr& each : waiting_) write(*each);
  for (const Arrival& arrival : flow_.arrivals) {
    if (arrival.update != nullptr) write(*arrival.update);
  }
  out.end_array();
  return any ? json : std::string();
}

std::string Updates::answers_json() const {
  if (answered_.empty()) return {};
  std::string json;
  JsonWriter out(json);
  out.begin_array();
  for (const UpdatePtr& each : answered_) {
    out.begin_array();
    out.value(each->id);
    out.value(each->hash);
    out.value(each->failed ? 1 : 0);
    if (each->failed) {
      out.value(each->answer);
    } else {
      out.raw_value(each->answer);
    }
    out.value(each->failure.type);
    out.value(each->failure.code);
    out.end_array();
  }
  out.end_array();
  return json;
}

std::vector<UpdatePtr> Updates::waiting_in(std::string_view json) {
  std::vector<UpdatePtr> all;
  if (json.empty()) return all;
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    in.begin_array();
    in.next_element();
    std::string id = in.string();
    in.next_element();
    std::string name = in.string();
    in.next_element();
    all.push_back(made(std::move(id), std::move(name), std::string(in.raw())));
    in.next_element();
  }
  return all;
}

void Updates::read_waiting(std::string_view json) {
  for (UpdatePtr& each : waiting_in(json)) {
    waiting_.push_back(add(std::move(each)));
  }
}

std::vector<UpdatePtr> Updates::answers_in(std::string_view json) {
  std::vector<UpdatePtr> all;
  if (json.empty()) return all;
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    auto made = std::make_shared<KnownUpdate>();
    in.begin_array();
    in.next_element();
    made->id = in.string();
    in.next_element();
    made->hash = in.string();
    in.next_element();
    made->failed = in.integer() != 0;
    in.next_element();
    made->answer = made->failed ? in.string() : std::string(in.raw());
    in.next_element();
    made->failure.type = in.string();
    in.next_element();
    made->failure.code = static_cast<int>(in.integer());
    in.next_element();
    made->answered = made->on_disk = true;
    made->settled.set();
    all.push_back(std::move(made));
  }
  return all;
}

void Updates::read_answers(std::string_view json) {
  for (UpdatePtr& each : answers_in(json)) {
    known_.insert_or_assign(each->id, each);
    answered_.push_back(std::move(each));
  }
}

}  // namespace tiffany::detail
