#include "base/thrown.hpp"

#include <new>

namespace tiffany {

std::string sentence_of(const std::exception_ptr& error, std::string_view otherwise) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return std::string(otherwise);
  }
}

std::string caught_sentence(std::string_view otherwise) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return std::string(otherwise);
  }
}

}  // namespace tiffany
