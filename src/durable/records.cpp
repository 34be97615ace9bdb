#include "durable/records.hpp"

#include "tiffany/base/codec.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::records {
namespace {

// Members of a payload, with the commas between them.
class Payload {
 public:
  explicit Payload(std::string& out) : out_(out) { out_.clear(); }
  Payload& text(std::string_view name, std::string_view value) {
    begin(name);
    JsonWriter(out_).value(value);
    return *this;
  }
  Payload& raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
  }
  Payload& value(std::string_view name, wal::RecordStore& store, const std::string& json) {
    begin(name);
    store.add_value(out_, json);
    return *this;
  }

 private:
  void begin(std::string_view name) {
    out_ += out_.empty() ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
  }
  std::string& out_;
};

Uuid uuid_in(const Fields& fields, std::string_view name) {
  return Uuid::parse(fields.text(name)).value_or(Uuid());
}
std::int64_t time_in(const Fields& fields, std::string_view name) {
  return wal::parse_time(fields.text(name)).value_or(0);
}
int int_in(const Fields& fields, std::string_view name) {
  return static_cast<int>(fields.number(name));
}

void add_result(Payload& payload, wal::RecordStore& store, const std::string& value, bool failed) {
  if (failed) {
    payload.text("error", value);
  } else {
    payload.value("result", store, value);
  }
}

// What was thrown. Nothing is written of what is not known.
void add_failure(Payload& payload, const detail::Failure* failure) {
  if (failure == nullptr || failure->type.empty()) return;
  payload.text("thrown", failure->type);
  if (failure->code != 0) payload.raw("code", std::to_string(failure->code));
}
detail::Failure failure_in(const Fields& fields) {
  detail::Failure failure;
  failure.type = fields.text("thrown");
  failure.code = int_in(fields, "code");
  if (fields.has("attempts")) failure.attempts = int_in(fields, "attempts");
  return failure;
}

}  // namespace

void Spawn::write(std::string& out, std::string_view name, int version, int rules,
                  std::string_view args, const Uuid& parent, const Marks& marks) {
  Payload payload(out);
  payload.text("name", name).raw("version", std::to_string(version));
  payload.raw("rules", std::to_string(rules)).raw("args", args);
  if (!parent.nil()) payload.text("parent", parent.text());
  if (!marks.key.empty()) payload.text("key", marks.key);
  if (marks.priority) payload.raw("priority", std::to_string(*marks.priority));
  if (marks.until != 0) payload.text("until", wal::text_of_time(marks.until));
  if (!marks.attributes.empty()) payload.raw("attributes", marks.attributes);
  if (!marks.at_end.empty()) payload.text("at_end", marks.at_end);
}
Spawn Spawn::read(const Fields& fields) {
  Spawn spawn;
  spawn.name = fields.text("name");
  spawn.version = int_in(fields, "version");
  spawn.rules = int_in(fields, "rules");
  spawn.args = fields.raw("args");
  spawn.parent = uuid_in(fields, "parent");
  spawn.fork_of = fields.text("fork_of");
  spawn.past = fields.raw("past");
  spawn.marks.key = fields.text("key");
  if (fields.has("priority")) {
    spawn.marks.priority = static_cast<std::uint8_t>(fields.number("priority"));
  }
  spawn.marks.until = time_in(fields, "until");
  spawn.marks.attributes = fields.raw("attributes");
  spawn.marks.at_end = fields.text("at_end");
  return spawn;
}

void StepStart::write(std::string& out, wal::RecordStore& store, std::string_view step, int attempt,
                      std::string_view hash, StepEffect effect, std::int64_t due,
                      std::string_view details) {
  Payload payload(out);
  payload.text("step", step).raw("attempt", std::to_string(attempt));
  if (!hash.empty()) payload.text("hash", hash);
  if (effect == StepEffect::at_most_once) payload.text("effect", "at_most_once");
  if (effect == StepEffect::transactional) payload.text("effect", "transactional");
  if (due != 0) payload.text("due", wal::text_of_time(due));
  if (!details.empty()) payload.value("details", store, to_json(std::string(details)));
}
StepStart StepStart::read(const Fields& fields) {
  return {fields.text("step"), int_in(fields, "attempt"), time_in(fields, "due"),
          std::string(fields.raw("details"))};
}

void Result::write_of_step(std::string& out, wal::RecordStore& store, std::string_view step,
                           std::string_view hash, const std::string& value, bool failed,
                           bool unknown, int attempts, const detail::Failure* failure) {
  Payload payload(out);
  payload.text("step", step);
  if (!hash.empty()) payload.text("hash", hash);
  add_result(payload, store, value, failed);
  if (unknown) payload.raw("unknown", "true");
  if (attempts > 1) payload.raw("attempts", std::to_string(attempts));
  if (failed) add_failure(payload, failure);
}
void Result::write(std::string& out, wal::RecordStore& store, std::string_view of,
                   const std::string& value, bool failed, const detail::Failure* failure) {
  Payload payload(out);
  payload.text("of", of);
  add_result(payload, store, value, failed);
  if (failed) add_failure(payload, failure);
}
Result Result::read(const Fields& fields) {
  Result result;
  result.of = fields.text(fields.has("step") ? "step" : "of");
  result.failed = fields.has("error");
  result.unknown = fields.has("unknown");
  result.value = result.failed ? fields.text("error") : std::string(fields.raw("result"));
  if (result.failed) result.failure = failure_in(fields);
  return result;
}

void Sent::write(std::string& out, wal::RecordStore& store, bool signal, std::string_view name,
                 const std::string& value) {
  Payload payload(out);
  payload.text(signal ? "signal" : "cancel", name);
  if (signal) payload.value("value", store, value);
}
void Sent::write_update(std::string& out, wal::RecordStore& store, std::string_view name,
                        std::string_view id, const std::string& request) {
  Payload(out).text("update", name).text("id", id).value("value", store, request);
}
std::optional<Sent> Sent::read(const Fields& fields) {
  if (fields.has("signal")) {
    return Sent{What::signal, fields.text("signal"), std::string(fields.raw("value")), {}};
  }
  if (fields.has("cancel")) return Sent{What::cancel, fields.text("cancel"), {}, {}};
  if (fields.has("update")) {
    return Sent{What::update, fields.text("update"), std::string(fields.raw("value")),
                fields.text("id")};
  }
  return std::nullopt;
}

void Asked::timer(std::string& out, std::string_view id, std::int64_t until,
                  std::string_view hash) {
  Payload payload(out);
  payload.text("op", "timer").text("id", id).text("until", wal::text_of_time(until));
  payload.text("hash", hash);
}
void Asked::promise(std::string& out, std::string_view id, const Uuid& promise,
                    std::string_view shape) {
  Payload payload(out);
  payload.text("op", "promise").text("id", id).text("promise", promise.text());
  payload.text("shape", shape);
}
void Asked::child(std::string& out, std::string_view id, const Uuid& child, std::string_view hash,
                  std::string_view shape) {
  Payload payload(out);
  payload.text("op", "spawn").text("id", id).text("child", child.text());
  payload.text("hash", hash).text("shape", shape);
}
void Asked::signal(std::string& out, std::string_view id, std::string_view shape,
                   std::string_view hash) {
  Payload payload(out);
  payload.text("op", "signal").text("id", id).text("shape", shape);
  if (!hash.empty()) payload.text("hash", hash);
}
void Asked::attribute(std::string& out, std::string_view id, std::string_view name,
                      std::string_view value, std::string_view hash) {
  Payload payload(out);
  payload.text("op", "attribute").text("id", id).text("attribute", name).raw("to", value);
  payload.text("hash", hash);
}
void Asked::version(std::string& out, std::string_view id, int value) {
  Payload(out).text("op", "version").text("id", id).raw("value", std::to_string(value));
}
void Asked::answer(std::string& out, wal::RecordStore& store, std::string_view id,
                   std::string_view hash, const std::string& value, bool failed,
                   const detail::Failure& failure) {
  Payload payload(out);
  payload.text("op", "answer").text("id", id).text("hash", hash);
  add_result(payload, store, value, failed);
  if (failed) add_failure(payload, &failure);
}
std::string Asked::pause(const Actor& actor) {
  return R"("op":"pause")" + members_of(actor.by.empty() ? Actor("operator", actor.why) : actor);
}
std::string Asked::resume(const Actor& actor) {
  return R"("op":"resume")" + members_of(actor.by.empty() ? Actor("operator", actor.why) : actor);
}
std::string Asked::retry(std::string_view from, const Actor& actor) {
  std::string out;
  Payload(out).text("op", "retry").text("from", from);
  return out + members_of(actor);
}
bool Asked::by_code() const noexcept {
  return op == "timer" || op == "promise" || op == "spawn" || op == "version" || op == "signal" ||
         op == "attribute" || op == "answer";
}
Asked Asked::read(const Fields& fields) {
  Asked asked;
  asked.op = fields.text("op");
  if (asked.op == "retry") asked.from = fields.text("from");
  if (!asked.by_code()) return asked;
  asked.id = fields.text("id");
  // Older logs call it "type", as the record itself has another member.
  asked.shape = fields.text(fields.has("shape") ? "shape" : "type");
  asked.due = time_in(fields, "until");
  asked.uuid = uuid_in(fields, asked.op == "promise" ? "promise" : "child");
  asked.value = int_in(fields, "value");
  return asked;
}

void Checkpoint::write(std::string& out, wal::RecordStore& store, const std::string& state,
                       std::uint64_t number, const std::string& mailbox, bool whole,
                       const std::optional<std::string>& cancelled, const std::string& attributes,
                       const std::string& updates, const std::string& answers) {
  Payload payload(out);
  payload.value("state", store, state);
  if (number != 0) payload.raw("number", std::to_string(number));
  whole ? payload.value("mailbox", store, mailbox) : payload.raw("mailbox", mailbox);
  if (cancelled) payload.text("cancelled", *cancelled);
  if (!attributes.empty()) payload.raw("attributes", attributes);
  if (!updates.empty()) payload.value("updates", store, updates);
  if (!answers.empty()) payload.value("answers", store, answers);
}
Checkpoint Checkpoint::read(const Fields& fields) {
  Checkpoint checkpoint;
  checkpoint.state = fields.raw("state");
  checkpoint.number = static_cast<std::uint64_t>(fields.number("number"));
  checkpoint.mailbox = fields.raw("mailbox");
  if (fields.has("cancelled")) checkpoint.cancelled = fields.text("cancelled");
  checkpoint.attributes = fields.raw("attributes");
  checkpoint.updates = fields.raw("updates");
  checkpoint.answers = fields.raw("answers");
  return checkpoint;
}

void End::exit(std::string& out, wal::RecordStore& store, const std::string& result,
               std::string_view trace) {
  Payload(out).value("result", store, result).text("trace", trace);
}
void End::abort(std::string& out, std::string_view reason, std::string_view error,
                std::string_view trace, const detail::Failure* failure) {
  Payload payload(out);
  payload.text("reason", reason).text("error", error);
  if (!trace.empty()) payload.text("trace", trace);
  add_failure(payload, failure);
}
End End::read(const Fields& fields) {
  End end;
  end.reason = fields.text("reason");
  end.value = fields.has("reason") ? fields.text("error") : std::string(fields.raw("result"));
  end.trace = fields.text("trace");
  if (fields.has("reason")) end.failure = failure_in(fields);
  return end;
}

std::string members_of(const Actor& actor) {
  std::string out;
  const auto add = [&out](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    out += ",\"";
    out += name;
    out += "\":";
    JsonWriter(out).value(text);
  };
  add("by", actor.by);
  add("why", actor.why);
  return out;
}

std::string value_in(const wal::RecordView& record, wal::RecordStore& store,
                     std::string_view json) {
  try {
    return store.value_of(json);
  } catch (const Error& error) {
    if (error.code() != Errc::value_not_decoded) throw;
    throw Error(error.code(), "A value in record " + std::to_string(record.seq) + " (" +
                                  std::string(record.type_name) + ") of task " +
                                  std::string(record.task) + " cannot be read. " + error.what());
  }
}

std::string command_id(const wal::RecordView& record, const Fields& fields) {
  if (fields.has("step")) return fields.text("step");
  if (record.type == wal::RecordType::Command && fields.has("id")) return fields.text("id");
  return {};
}

}  // namespace tiffany::records
