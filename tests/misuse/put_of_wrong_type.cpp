// A value that the key's type cannot be made of.
#include <tiffany/tiffany.hpp>

inline constexpr tiffany::StateKey<int> kCount{"count"};

void program() { put(kCount, "three"); }
