#include <vector>

#include "tiffany/tiffany.hpp"

// right: Task<int*>, or Task<std::reference_wrapper<int>>
tiffany::Task<int&> first_of(std::vector<int>& numbers) { co_return numbers.front(); }
