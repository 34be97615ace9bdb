// The sentence of something that was thrown: by code of users, which may throw anything.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace tiffany {

// `otherwise`: for what is no std::exception.
std::string sentence_of(const std::exception_ptr& error, std::string_view otherwise);

// In a catch (...): of what was caught there. std::bad_alloc is thrown on, because memory that ran
// out is no answer of the code that was asked.
std::string caught_sentence(std::string_view otherwise);

}  // namespace tiffany
