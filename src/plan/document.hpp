// YAML as a tree in which everything knows where it stands. Bounded, aliases included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiffany/plan/check.hpp"

namespace tiffany::plan {

struct NodeMember;

struct Node {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;     // of a scalar
  bool quoted = false;  // a scalar that is text, whatever it looks like
  int line = 0;
  int column = 0;
  std::vector<Node> items;          // of a list
  std::vector<NodeMember> members;  // of a map, in the order of the file

  bool is(Kind what) const noexcept { return kind == what; }
};
struct NodeMember {
  Node key;
  Node value;
};
const char* name_of(Node::Kind kind) noexcept;

// One document. What is wrong with it goes to `mistakes`; then the tree is not to be used.
Node read_document(std::string_view text, std::vector<Mistake>& mistakes);

}  // namespace tiffany::plan
