#include "tiffany/tiffany.hpp"

void misuse() { tiffany::await(42); }
