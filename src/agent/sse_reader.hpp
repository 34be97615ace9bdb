// Events out of a text/event-stream as it comes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany::agent {

// The bound of what is held is the caller's: never more than was added.
class SseReader {
 public:
  void add(std::string_view bytes);
  // The data of the next event that is whole; its lines have \n between them. Comments, names of
  // events and events without data are skipped. Nothing: more is needed.
  std::optional<std::string> next();

 private:
  bool next_line(std::string_view& line);

  std::string buffer_;
  std::size_t at_ = 0;      // what is read of the buffer
  std::size_t looked_ = 0;  // where no end of a line was found before
  bool begun_ = false;
  bool after_cr_ = false;  // a \n that comes now belongs to the \r before it
  bool has_data_ = false;
  std::string data_;
};

}  // namespace tiffany::agent
