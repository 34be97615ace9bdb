#include "tiffany/agent/model.hpp"

namespace tiffany::agent {

std::string_view name_of(Stop stop) noexcept {
  constexpr std::string_view kNames[] = {"end", "tools", "length", "refused"};
  return kNames[static_cast<std::size_t>(stop)];
}

}  // namespace tiffany::agent

namespace tiffany {

void Codec<agent::Stop>::write(JsonWriter& out, agent::Stop stop) { out.value(name_of(stop)); }
agent::Stop Codec<agent::Stop>::read(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  for (const agent::Stop stop :
       {agent::Stop::end, agent::Stop::tools, agent::Stop::length, agent::Stop::refused}) {
    if (name == agent::name_of(stop)) return stop;
  }
  in.fail("why a reply ended (end, tools, length, refused)", at);
}

}  // namespace tiffany
