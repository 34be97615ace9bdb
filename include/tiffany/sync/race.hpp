// race over the calls of module sync is a part of race over everything: see engine/combine.hpp.
#pragma once

#include "tiffany/engine/combine.hpp"
