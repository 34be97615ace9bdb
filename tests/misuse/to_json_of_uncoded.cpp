#include <vector>

#include "tiffany/base/codec.hpp"

struct Order {
  int id = 0;
};

std::string misuse() { return tiffany::to_json(std::vector<Order>()); }
