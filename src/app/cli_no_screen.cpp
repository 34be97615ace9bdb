// A build without ncurses: `top` is text.
#include "app/cli_screen.hpp"

namespace tiffany::app {

bool Screen::available() noexcept { return false; }
Screen::Screen() = default;
Screen::~Screen() = default;
std::size_t Screen::rows() const noexcept { return 0; }
std::size_t Screen::columns() const noexcept { return 0; }
void Screen::draw(const std::vector<ScreenLine>&) {}
int Screen::key(Duration) { return kNone; }

}  // namespace tiffany::app
