#include "durable/failure.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>
#include <utility>

#include "tiffany/durable/failures.hpp"

namespace tiffany::detail {
namespace {

std::string name_of_type(const std::type_info& type) {
  int status = 0;
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  if (text == nullptr) return type.name();
  std::string name(text);
  std::free(text);  // as __cxa_demangle asks
  return name;
}

FailurePtr failure_of(const std::exception& error) {
  auto failure = std::make_shared<Failure>();
  // What was thrown first is what a reader wants to know, through any number of tasks.
  const auto* const recorded = dynamic_cast<const RecordedFailure*>(&error);
  if (recorded != nullptr && !recorded->type().empty()) {
    failure->type = recorded->type();
    failure->code = recorded->cause() ? static_cast<int>(*recorded->cause()) : 0;
    return failure;
  }
  failure->type = name_of_type(typeid(error));
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own != nullptr) failure->code = static_cast<int>(own->code());
  return failure;
}

}  // namespace

FailedAttempt failed_attempt(const std::exception_ptr& error) {
  FailedAttempt failed;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    failed.sentence = e.what();
    failed.failure = failure_of(e);
    failed.final = dynamic_cast<const NotRetryable*>(&e) != nullptr;
    failed.unknown = dynamic_cast<const StepUnknown*>(&e) != nullptr;
    const auto* const later = dynamic_cast<const RetryAfter*>(&e);
    if (later != nullptr) failed.after = later->delay();
  } catch (...) {
    failed.sentence = "something that is no std::exception was thrown";
  }
  if (failed.sentence.empty()) failed.sentence = "a failure without a sentence";
  return failed;
}

}  // namespace tiffany::detail
