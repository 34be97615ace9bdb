// Takes secrets out of bytes before anybody keeps them: what a command prints, what a tool answers.
//
//   Scrubber secrets;
//   secrets.add("hunter22");
//   secrets.scrubbed("password=hunter22")     // "password=***"
//
// A secret is found as it is, in base64 (both alphabets, wherever it is in what was encoded), in
// hexadecimal digits, percent-encoded for a URL, and with the escapes of JSON, in UTF-8 or in
// ASCII alone; of one with several lines, each long line by itself. It is not found in other forms,
// as compressed or reversed: this is against mistakes, and not against a program that wants to give
// a secret away.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany {

class Scrubber {
 public:
  // Shorter ones are in every text, and are not taken out.
  static constexpr std::size_t kShortest = 4;

  void add(std::string_view secret);
  bool empty() const noexcept { return needles_.empty(); }
  std::string scrubbed(std::string_view text) const;

  // The same for bytes that come in pieces: a secret is found across their borders. What may be the
  // beginning of a secret is held back until more comes.
  class Stream {
   public:
    explicit Stream(const Scrubber& secrets) noexcept : secrets_(&secrets) {}
    // What can be kept by now.
    std::string add(std::string_view bytes);
    // And the rest, when nothing more comes.
    std::string finish();

   private:
    const Scrubber* secrets_;
    std::string held_;
  };

 private:
  void add_form(std::string form);
  // Appends to `out` what can be decided, and gives how many bytes of `text` that was.
  std::size_t scrub(std::string_view text, bool last, std::string& out) const;

  std::vector<std::string> needles_;                        // the longest first
  std::array<std::vector<std::uint32_t>, 256> by_first_{};  // numbers of needles
};

}  // namespace tiffany
