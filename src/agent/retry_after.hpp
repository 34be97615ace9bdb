// How long an endpoint asks to wait.
#pragma once

#include <optional>

#include "tiffany/base/time.hpp"
#include "tiffany/serve/http.hpp"

namespace tiffany::agent {

// Of retry-after-ms, or of Retry-After: seconds, or a date, which is taken from the date of the
// answer, or where it has none from `wall_us`, microseconds since 1970. A day at most. Nothing when
// there is none, or none that can be read.
std::optional<Duration> retry_after(const http::Headers& headers,
                                    std::optional<std::int64_t> wall_us);

}  // namespace tiffany::agent
