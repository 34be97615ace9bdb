// The program `tiffany`: an App with no types of its own. `tiffany help` says what it can do.
#include "tiffany/app/app.hpp"

int main(int count, char** arguments) {
  tiffany::App app("tiffany");
  return app.main(count, arguments);
}
