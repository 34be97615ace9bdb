#include "tiffany/base/codec.hpp"

struct Address {};
struct Order {
  int id = 0;
  Address address;
};
TIFFANY_JSON(Order, id, address);

Order misuse() { return tiffany::from_json<Order>("{}"); }
