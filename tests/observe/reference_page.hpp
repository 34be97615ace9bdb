// Tables of docs/19-observing.md, for tests that compare them with the code.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace tiffany::reference_page {

inline std::string source_file(const std::string& path) {
  std::ifstream file(std::string(TIFFANY_SOURCES) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// From one heading to the next.
inline std::string section(const std::string& heading) {
  const std::string page = source_file("docs/19-observing.md");
  const std::size_t begin = page.find("\n" + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  if (begin == std::string::npos) return {};
  const std::size_t end = std::min(page.find("\n## ", begin + 1), page.find("\n### ", begin + 1));
  return page.substr(begin, end - begin);
}

// All that stands in backquotes in the first column of the tables.
inline std::set<std::string> first_column(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t line = 0; (line = text.find("\n| `", line)) != std::string::npos; ++line) {
    const std::size_t end = text.find(" |", line + 3);
    for (std::size_t at = line; (at = text.find('`', at)) < end;) {
      const std::size_t close = text.find('`', at + 1);
      names.insert(text.substr(at + 1, close - at - 1));
      at = close + 1;
    }
  }
  return names;
}

}  // namespace tiffany::reference_page
