// The program `tiffany`: logs and durable tasks from a shell. `tiffany help` says what it can do.
#include "tiffany/app/command_line.hpp"

int main(int count, char** arguments) {
  return tiffany::durable_main(count, arguments, tiffany::Registry());
}
