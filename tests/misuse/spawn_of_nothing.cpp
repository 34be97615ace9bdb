#include <tiffany/tiffany.hpp>

void misuse() { tiffany::spawn(); }
