// A full screen for `top`, by ncurses. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli_output.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::app {

// A line of the screen; what does not fit is cut off.
struct ScreenLine {
  std::string text{};
  Paint paint = Paint::plain;
  bool chosen = false;
};

class Screen {
 public:
  // Whether there is one in this build.
  static bool available() noexcept;
  // Takes the terminal over; gives it back when it goes, as it was.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static constexpr int kNone = -1;
  static constexpr int kUp = -2;
  static constexpr int kDown = -3;
  static constexpr int kResized = -4;
  std::size_t rows() const noexcept;
  std::size_t columns() const noexcept;
  // Draws what has changed.
  void draw(const std::vector<ScreenLine>& lines);
  // The next key, or one of the above when none came in that time. Blocks the thread.
  int key(Duration longest);
};

}  // namespace tiffany::app
