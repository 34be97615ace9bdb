// Every byte of a log of three tasks is damaged in turn: the file is cut off there, or one bit is
// flipped there. What is missing then is said to be missing, the tasks that it touches do not run,
// and the next owner of the log does not cover it up. Nothing is ever found that was not written.
//
// Some damage cannot be told from a write that was not finished when the power went, which is no
// damage:
//
// journal  The file `synced` says how far everything was synced, so that a flip or a cut below that
// is found. It is a
//          hint that can be lost; without it, the last batch of the last segment is as good as
//          unfinished.
// files    There is no such file here. One that is cut off looks like one whose last batches were
// never
//          written. A flip is found nevertheless: what is left by a torn write are zeros, or the
//          end of the file. Only one that makes a zero is taken for it, if it is in the last batch.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wal/story.hpp"

namespace tiffany::wal::test {
namespace damage_test {

// A disk with a log on it, whose last batch holds records of two tasks.
class Damaged {
 public:
  Damaged(Layout layout, bool with_mark) : story(layout) {
    const auto disk = std::make_shared<FaultDisk>();
    EXPECT_EQ(story.tell_first_part(disk), nullptr);
    story.all_are_safe();
    contents = disk->contents();
    if (!with_mark) contents.erase("wal/synced");
    contents.erase("wal/next");
  }

  // What was in the batch that came last: in the journal for all, else in one file.
  std::set<const Told*> last_batch(const std::string& path) {
    std::set<const Told*> records;
    const std::string& bytes = contents.at(path);
    const std::size_t begin = bytes.rfind("\n {");
    const std::string_view batch =
        std::string_view(bytes).substr(begin == std::string::npos ? 0 : begin);
    for (const Told& record : story.records()) {
      if (batch.find("," + record.payload + ",") != std::string_view::npos) records.insert(&record);
    }
    EXPECT_FALSE(records.empty());
    return records;
  }
  // All that is in a file.
  std::set<const Told*> all_in(const std::string& path) {
    std::set<const Told*> records;
    for (const Told& record : story.records()) {
      if (path == "wal/" + record.task.text() + ".wal") records.insert(&record);
    }
    return records;
  }
  std::string last_segment() const {
    std::string last;
    for (const auto& [path, bytes] : contents) {
      if (path.ends_with(".journal")) last = path;
    }
    return last;
  }

  // What a reader says, and what one says after the next owner of the log.
  std::string complaint(const std::shared_ptr<FaultDisk>& disk,
                        const std::set<const Told*>& may_miss, bool reopen) {
    const Found found(*disk, story);
    std::string wrong = found.after_damage(story, may_miss);
    reported += found.index.damage.empty() ? 0 : 1;
    if (!wrong.empty() || !reopen || found.index.damage.empty()) return wrong;
    const std::size_t records = story.records().size();
    if (story.go_on(disk) != nullptr) return "the log cannot be opened";
    const Found again(*disk, story);
    story.forget_after(records);
    if (again.index.damage.empty()) return "the next owner covered it up";
    for (const Uuid& id : found.ids) {
      if (found.quarantined(id) && !again.quarantined(id)) {
        return "not quarantined any more: " + id.text() + ", " + found.index.find(id)->quarantine;
      }
    }
    return {};
  }

  Story story;
  std::map<std::string, std::string> contents;
  std::size_t reported = 0;
};

std::shared_ptr<FaultDisk> cut(const std::map<std::string, std::string>& contents,
                               const std::string& path, std::size_t size) {
  std::map<std::string, std::string> other = contents;
  other.at(path).resize(size);
  return std::make_shared<FaultDisk>(other);
}
std::shared_ptr<FaultDisk> flip(const std::map<std::string, std::string>& contents,
                                const std::string& path, std::size_t at, unsigned bit) {
  std::map<std::string, std::string> other = contents;
  char& byte = other.at(path)[at];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1u << bit));
  return std::make_shared<FaultDisk>(other);
}
constexpr std::size_t kStride = 23;  // every so many bytes the log is opened again as well
// From one byte to the next. The zeros at the end of a segment are not worth as much.
std::size_t after(const std::string& bytes, std::size_t at) {
  return at + (at > bytes.find_last_not_of('\0') + 2 ? 61 : kEvery);
}

TEST(WalDamageTest, D2_AJournalThatIsCutOffAtAnyByteIsFoundOut) {
  for (const bool with_mark : {true, false}) {
    Damaged log(Layout::journal, with_mark);
    const std::string last = log.last_segment();
    for (const auto& [path, bytes] : std::map(log.contents)) {
      if (!path.ends_with(".journal") || (!with_mark && path != last)) continue;
      for (std::size_t size = 0; size <= bytes.size(); size = after(bytes, size)) {
        // Without the mark the last segment may have ended anywhere: batches behind the cut are not
        // there to tell.
        std::set<const Told*> may_miss;
        if (!with_mark) {
          for (const Told& record : log.story.records()) {
            if (bytes.find("," + record.payload + ",") != std::string::npos)
              may_miss.insert(&record);
          }
        }
        const auto disk = cut(log.contents, path, size);
        ASSERT_EQ(log.complaint(disk, may_miss, size % kStride == 0), "")
            << path << " cut at " << size << " of " << bytes.size() << ", mark " << with_mark;
      }
    }
    EXPECT_TRUE(log.reported > 1000 / kEvery || !with_mark);
  }
}

TEST(WalDamageTest, D2_AnyBitThatIsFlippedInAJournalIsFoundOut) {
  for (const bool with_mark : {true, false}) {
    Damaged log(Layout::journal, with_mark);
    const std::string last = log.last_segment();
    for (const auto& [path, bytes] : std::map(log.contents)) {
      if (!with_mark && path != last) continue;
      std::set<const Told*> may_miss;
      if (!with_mark) may_miss = log.last_batch(path);
      for (std::size_t at = 0; at < bytes.size(); at = after(bytes, at)) {
        const auto disk = flip(log.contents, path, at, at % 8);
        // Without a mark that can be read, as above.
        const std::set<const Told*> accepted =
            path == "wal/synced" ? log.last_batch(last) : may_miss;
        ASSERT_EQ(log.complaint(disk, accepted, at % kStride == 0), "")
            << path << " flipped at " << at << ", mark " << with_mark;
      }
    }
    EXPECT_TRUE(log.reported > 1000 / kEvery || !with_mark);
  }
}

// As when a sector cannot be read, or was never written.
TEST(WalDamageTest, D2_APieceOfAJournalThatIsWipedOutIsFoundOut) {
  Damaged log(Layout::journal, true);
  for (const auto& [path, bytes] : std::map(log.contents)) {
    if (!path.ends_with(".journal")) continue;
    for (const char with : {'\0', 'x', '\n', '\x05'}) {
      for (std::size_t at = 0; at < bytes.size(); at += 31 * kEvery) {
        auto contents = log.contents;
        std::string& damaged = contents.at(path);
        const std::size_t size = std::min<std::size_t>(FaultDisk::kPage, bytes.size() - at);
        damaged.replace(at, size, std::string(size, with));
        const auto disk = std::make_shared<FaultDisk>(contents);
        ASSERT_EQ(log.complaint(disk, {}, at % kStride == 0), "")
            << path << " wiped out with " << int{with} << " at " << at;
      }
    }
  }
  EXPECT_GT(log.reported, 1000 / kEvery);
}

TEST(WalDamageTest, D2_AFileThatIsCutOffLosesItsOwnLastRecordsAndNoOthers) {
  Damaged log(Layout::files, true);
  for (const auto& [path, bytes] : std::map(log.contents)) {
    if (!path.ends_with(".wal")) continue;
    const std::set<const Told*> may_miss = log.all_in(path);
    for (std::size_t size = 0; size <= bytes.size(); size += kEvery) {
      const auto disk = cut(log.contents, path, size);
      ASSERT_EQ(log.complaint(disk, may_miss, size % kStride == 0), "") << path << " at " << size;
    }
  }
}

TEST(WalDamageTest, D2_AnyBitThatIsFlippedInAFileIsFoundOut) {
  Damaged log(Layout::files, true);
  for (const auto& [path, bytes] : std::map(log.contents)) {
    for (std::size_t at = 0; at < bytes.size(); at += kEvery) {
      for (const unsigned bit : {static_cast<unsigned>(at % 8), 5u}) {  // the sixth makes zeros
        const bool zero = bytes[at] == static_cast<char>(1u << bit);
        std::set<const Told*> may_miss;
        const bool of_task = path.ends_with(".wal");  // and not the hint `sizes`
        if (zero && of_task && path.find("00000000-0000-0000") == std::string::npos) {
          may_miss = log.last_batch(path);
        }
        const auto disk = flip(log.contents, path, at, bit);
        ASSERT_EQ(log.complaint(disk, may_miss, at % kStride == 0 && bit == at % 8), "")
            << path << " flipped at " << at << ", bit " << bit;
      }
    }
  }
  EXPECT_GT(log.reported, 1000 / kEvery);
}

TEST(WalDamageTest, D2_ASegmentThatIsGoneIsFoundOut) {
  Damaged log(Layout::journal, true);
  for (const auto& [path, bytes] : std::map(log.contents)) {
    // From the front they are removed when nobody needs them: what is left then begins with a gap
    // for each task.
    if (!path.ends_with(".journal")) continue;
    auto contents = log.contents;
    contents.erase(path);
    const auto disk = std::make_shared<FaultDisk>(contents);
    const Found found(*disk, log.story);
    const bool first = path == "wal/00000001.journal";
    if (!first) {
      EXPECT_EQ(log.complaint(disk, {}, true), "") << path;
    }
    for (const Uuid& id : found.ids) {
      if (!found.complete(id, log.story.safe(id))) {
        EXPECT_TRUE(found.quarantined(id)) << path;
      }
    }
  }
}

TEST(WalDamageTest, D2_AfterACompactionTheSegmentsThatCountAreMissed) {
  Story story(Layout::journal);
  const auto whole = std::make_shared<FaultDisk>();
  ASSERT_EQ(story.tell(whole), nullptr);
  for (const bool with_mark : {true, false}) {
    auto contents = whole->contents();
    if (!with_mark) contents.erase("wal/synced");
    std::erase_if(contents, [](const auto& file) { return file.first.ends_with(".journal"); });
    const auto disk = std::make_shared<FaultDisk>(contents);
    EXPECT_FALSE(scan(*disk, kDirectory, Layout::journal).damage.empty());
    // What the next owner writes counts, and the gap stays.
    Story next(Layout::journal);
    ASSERT_EQ(next.tell_first_part(disk), nullptr);
    const Found found(*disk, next);
    EXPECT_FALSE(found.index.damage.empty());
    EXPECT_EQ(found.invented, "");
    for (const Told& record : next.records()) {
      EXPECT_TRUE(found.complete(record.task, record.seq));
    }
  }
}

TEST(WalDamageTest, D2_DamageIsDescribedWithItsPlaceAndWithWhatWasExpected) {
  Damaged log(Layout::journal, true);
  auto contents = log.contents;
  std::string& bytes = contents.at("wal/00000002.journal");
  const std::size_t line = bytes.find('\n') + 1;
  const std::size_t text = bytes.find("\"text\":\"", line) + 10;
  bytes[text] = '!';
  FaultDisk disk(contents);
  const LogIndex index = scan(disk, kDirectory, Layout::journal);
  ASSERT_EQ(index.damage.size(), 1u);
  EXPECT_EQ(index.damage[0].file, "wal/00000002.journal");
  EXPECT_EQ(index.damage[0].line, 2u);
  EXPECT_EQ(index.damage[0].offset, line);
  const std::string sentence = index.damage[0].text();
  EXPECT_NE(sentence.find("wal/00000002.journal, line 2 (byte " + std::to_string(line) +
                          "): expected a record with the checksum "),
            std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find(", found one with "), std::string::npos) << sentence;
}

}  // namespace damage_test
}  // namespace tiffany::wal::test
