#include "tiffany/tiffany.hpp"

struct Fragile {
  Fragile() = default;
  Fragile(Fragile&&) {}
};

void misuse() { tiffany::channel<Fragile>(4); }
