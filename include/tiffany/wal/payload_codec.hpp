// What the values of durable tasks pass on their way into a store and out of it: encryption with
// keys that rotate, compression. For a log that people may read who must not read its values.
//
//   LogOptions options("wal");
//   options.codec = std::make_shared<MyCodec>(keys);    // of a Host, of inspect(), of the shell
//
// Encoded are arguments, results of steps, tasks and children, values of signals and promises,
// requests and answers of updates, the states and mailboxes of checkpoints, and what heartbeats
// say. Clear text stay, because hosts and tools need them without a key: names, ids, keys of tasks,
// search attributes, times, reasons and sentences of failures, and 64-bit hashes of arguments and
// of answers to updates, by which a guess can be checked. What must not be read belongs into
// values.
//
// A value is recorded as {"$encoded":"<id of the key>","data":"<base64>"}. Which key is new is the
// business of the codec: a log may have values of many keys, and a key is needed as long as there
// are values of it.
//
// Crash case: a value is encoded when its record is appended, and decoded when it is read again; a
// crash between loses both, or neither.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany::wal {

// Called on the thread of the scheduler, in the middle of an append: it should not take long.
class PayloadCodec {
 public:
  virtual ~PayloadCodec();
  PayloadCodec(const PayloadCodec&) = delete;
  PayloadCodec& operator=(const PayloadCodec&) = delete;

  struct Encoded {
    std::string key;    // its id: 1 to 64 letters, digits, dots, hyphens and underscores
    std::string bytes;  // any
  };
  // A value is JSON. The same value may be encoded differently each time. What is thrown refuses
  // the call that the value came with, and nothing is recorded: a start, a signal, a checkpoint. A
  // step whose result, or an update whose answer cannot be encoded fails. A task whose result
  // cannot be encoded stops, and goes on when its log is opened again.
  virtual Encoded encode(std::string_view json) const = 0;
  // None: that key is not known. What is thrown says why the bytes are not what encode() gave.
  virtual std::optional<std::string> decode(std::string_view key, std::string_view bytes) const = 0;
  // Values that were recorded without a codec, and those with an empty key, may be read: for a log
  // that has to become encrypted. Whoever can write to the log can then put values into it.
  virtual bool accepts_clear() const noexcept { return false; }

 protected:
  PayloadCodec() = default;
};

// ---- For stores and tools ----

// A value as it is recorded. Errc::value_not_encoded when the codec fails. Null: there is no codec.
std::string encoded_value(const PayloadCodec* codec, const std::string& value);
// And the value again. Errc::value_not_decoded, with the id of the key in the sentence.
std::string decoded_value(const PayloadCodec* codec, std::string recorded);
// It may be an encoded one.
bool maybe_encoded(std::string_view recorded) noexcept;
// For people: "<encrypted, key k2, 120 bytes>". Empty: the value is not encoded.
std::string encoded_summary(std::string_view recorded);
// A line of a log for people: with the values that its encoded ones stand for, or, without a codec
// or key, with their summaries as strings. A line without any stays what it is.
std::string decoded_line(const PayloadCodec* codec, std::string_view line);

}  // namespace tiffany::wal
