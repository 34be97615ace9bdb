#include "tiffany/wal/values.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kReference = R"({"$value":")";
constexpr std::size_t kHashSize = 64;

}  // namespace

bool belongs_aside(std::string_view json) noexcept {
  return json.size() > kLongestValue || json.starts_with(kReference);
}

std::string value_name(std::string_view json) { return sha256_hex(json); }

std::string value_reference(const std::string& name, std::size_t size) {
  return std::string(kReference) + name + "\",\"size\":" + std::to_string(size) + "}";
}

void find_values(std::string_view text, std::unordered_set<std::string>& names) {
  for (std::size_t at = text.find(kReference); at != std::string_view::npos;
       at = text.find(kReference, at + 1)) {
    names.emplace(text.substr(at + kReference.size(), kHashSize));
  }
}

namespace {

void add_reference(std::string_view json, std::unordered_set<std::string>& names) {
  if (json.starts_with(kReference)) names.emplace(json.substr(kReference.size(), kHashSize));
}

// Of an array of pairs, a name and a value.
void find_in_mailbox(std::string_view json, std::unordered_set<std::string>& names) {
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    in.begin_array();
    while (in.next_element()) add_reference(in.raw(), names);
  }
}

}  // namespace

void find_references(std::string_view payload, std::unordered_set<std::string>& names) {
  if (payload.find(kReference) == std::string_view::npos) return;
  const std::string text = "{" + std::string(payload) + "}";
  JsonReader in(text);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    const std::string_view value = in.raw();
    add_reference(value, names);
    if (name == "mailbox" && value.starts_with('[')) find_in_mailbox(value, names);
  }
}

std::string value_of(Disk& disk, const std::string& directory, std::string_view json) {
  if (!json.starts_with(kReference)) return std::string(json);
  const std::string name(json.substr(kReference.size(), kHashSize));
  const std::string path = directory + "/values/" + name + ".json";
  if (name.find('/') != std::string::npos || !disk.exists(path)) {
    throw Error(Errc::log_damaged,
                "The log names a value that lies beside it, and " + path + " does not exist.");
  }
  const auto content = disk.read(path);
  std::string value(content->bytes());
  if (sha256_hex(value) != name) {
    throw Error(Errc::log_damaged,
                path + " does not hold what its name says; it was changed or cut.");
  }
  return value;
}

}  // namespace tiffany::wal
