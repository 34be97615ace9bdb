// The one file that includes ncurses.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include "app/cli_screen.hpp"

#include <curses.h>

#include <clocale>

namespace tiffany::app {

bool Screen::available() noexcept { return true; }

Screen::Screen() {
  std::setlocale(LC_ALL, "");
  ::initscr();
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, true);
  ::curs_set(0);
  if (::has_colors()) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(1, COLOR_GREEN, -1);
    ::init_pair(2, COLOR_RED, -1);
    ::init_pair(3, COLOR_YELLOW, -1);
  }
}
Screen::~Screen() { ::endwin(); }

std::size_t Screen::rows() const noexcept { return static_cast<std::size_t>(LINES); }
std::size_t Screen::columns() const noexcept { return static_cast<std::size_t>(COLS); }

void Screen::draw(const std::vector<ScreenLine>& lines) {
  ::werase(stdscr);
  int row = 0;
  for (const ScreenLine& line : lines) {
    if (row >= LINES) break;
    attr_t look = 0;
    if (line.paint == Paint::good) look = static_cast<attr_t>(COLOR_PAIR(1));
    if (line.paint == Paint::bad) look = static_cast<attr_t>(COLOR_PAIR(2));
    if (line.paint == Paint::notice) look = static_cast<attr_t>(COLOR_PAIR(3));
    if (line.paint == Paint::faint) look = A_DIM;
    if (line.chosen) look |= A_REVERSE;
    ::wattrset(stdscr, static_cast<int>(look));
    ::mvwaddnstr(stdscr, row++, 0, line.text.c_str(), -1);
  }
  ::wattrset(stdscr, 0);
  ::wrefresh(stdscr);
}

int Screen::key(Duration longest) {
  ::wtimeout(stdscr, static_cast<int>(longest / std::chrono::milliseconds(1)));
  const int got = ::wgetch(stdscr);
  switch (got) {
    case ERR:
      return kNone;
    case KEY_UP:
      return kUp;
    case KEY_DOWN:
      return kDown;
    case KEY_RESIZE:
      return kResized;
    default:
      return got;
  }
}

}  // namespace tiffany::app
