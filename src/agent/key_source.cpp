#include <cstdlib>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/io/file.hpp"

namespace tiffany::agent {

namespace {

constexpr std::size_t kLongestKey = 16384;

std::string trimmed(std::string key) {
  constexpr std::string_view kSpace = " \t\r\n";
  key.erase(key.find_last_not_of(kSpace) + 1);
  key.erase(0, key.find_first_not_of(kSpace));
  return key;
}

bool is_printable(std::string_view key) noexcept {
  for (const char c : key) {
    if (c <= 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

std::string KeySource::about() const {
  if (kind_ == Kind::file) return "the file " + where_;
  if (kind_ == Kind::environment) return "the environment variable " + where_;
  return "nowhere";
}

Task<std::string> KeySource::read() const {
  if (kind_ == Kind::none) co_return std::string();
  std::string key;
  if (kind_ == Kind::file) {
    try {
      key = co_await read_file(where_, kLongestKey);
    } catch (const Error& error) {
      throw NotRetryable("The API key cannot be read: " + std::string(error.what()));
    }
  } else {
    const char* const value = std::getenv(where_.c_str());
    if (value != nullptr) key = value;
  }
  key = trimmed(std::move(key));
  if (key.empty()) throw NotRetryable("There is no API key in " + about() + ".");
  if (!is_printable(key)) {
    throw NotRetryable("The API key in " + about() +
                       " has a space, a line break or another character that no key has.");
  }
  co_return key;
}

}  // namespace tiffany::agent
