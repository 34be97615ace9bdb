#include <functional>
#include <vector>

#include "tiffany/tiffany.hpp"

// right: int*, or std::reference_wrapper<int>
int& first_of(std::vector<int>& numbers) { return numbers.front(); }

void misuse(std::vector<int>& numbers) { tiffany::spawn_fiber(first_of, std::ref(numbers)); }
