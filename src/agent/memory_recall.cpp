// How notes are found: by words, by vector, by edges.
#include <algorithm>
#include <map>

#include "agent/memory_parts.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

struct Hit {
  std::int64_t key;
  double score;
  int distance;
};

// The k of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): 60 in most systems.
constexpr double kFusion = 60;
// Each list is longer than what is asked for, so that a note that is fair in both can win.
constexpr std::size_t kFusedLists = 4;
constexpr std::size_t kLongestTerm = 128;
constexpr std::int64_t kCommon = 4000;      // notes with a word
constexpr std::int64_t kCandidates = 8000;  // notes that are ranked for a query
constexpr std::size_t kLongestQuery = std::size_t{16} << 10;

bool in_word(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80U || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

void require_query(const Query& query) {
  std::string mistake;
  if (query.most == 0 || query.most > MemoryLimits::kResults) {
    mistake = "asks for " + std::to_string(query.most) + " notes, and may ask for 1 to " +
              std::to_string(MemoryLimits::kResults) + ".";
  }
  if (query.depth < 0 || query.depth > MemoryLimits::kDepth) {
    mistake = "has the depth " + std::to_string(query.depth) + ", and may have 0 to " +
              std::to_string(MemoryLimits::kDepth) + ".";
  }
  if (query.kinds.size() > MemoryLimits::kKinds) {
    mistake = "names more than " + std::to_string(MemoryLimits::kKinds) + " kinds.";
  }
  if (query.vector.size() > MemoryLimits::kDimension) {
    mistake = "has a vector of more than " + std::to_string(MemoryLimits::kDimension) + " numbers.";
  }
  if (!mistake.empty()) throw Error(Errc::bad_argument, "A query " + mistake);
}

// Kinds are compared with a list in JSON, and so need no SQL of their own.
#define TIFFANY_RECALLABLE                      \
  "(n.expires_us = 0 OR n.expires_us > ?) AND " \
  "(? OR n.kind IN (SELECT value FROM json_each(?))) "

void bind_filter(Statement& statement, const Query& query) {
  statement.bind(query.now_us).bind(std::int64_t{query.kinds.empty() ? 1 : 0});
  std::vector<std::string> kinds;  // other bytes than UTF-8 are no kind that a note has
  for (const std::string& each : query.kinds) {
    if (tiffany::detail::is_utf8(each)) kinds.push_back(each);
  }
  statement.bind(to_json(kinds));
}

std::vector<std::int64_t> keys_in(Statement& statement) {
  std::vector<std::int64_t> keys;
  while (statement.next()) keys.push_back(statement.integer(0));
  return keys;
}

// Of the newest kCandidates notes that have one of these words.
std::vector<std::int64_t> matching(MemoryFile& file, const std::string& words, const Query& query,
                                   std::size_t most) {
  if (words.empty()) return {};
  Statement find(file,
                 "SELECT key FROM (SELECT n.key AS key, bm25(texts) AS score FROM texts "
                 "JOIN nodes n ON n.key = texts.rowid WHERE texts MATCH ? AND " TIFFANY_RECALLABLE
                 "ORDER BY texts.rowid DESC LIMIT ?) ORDER BY score, key LIMIT ?");
  find.bind(words);
  bind_filter(find, query);
  find.bind(kCandidates).bind(static_cast<std::int64_t>(most));
  return keys_in(find);
}

bool is_common(MemoryFile& file, const std::string& word) {
  Statement count(file, "SELECT count(*) FROM (SELECT 1 FROM texts WHERE texts MATCH ? LIMIT ?)");
  count.bind(word).bind(kCommon + 1);
  return count.next() && count.integer(0) > kCommon;
}

// A word that very many notes have says little of each, and to rank all of them takes long: such
// words count when the others have not found enough.
std::vector<std::int64_t> by_words(MemoryFile& file, const Query& query, std::size_t most) {
  std::string rare;
  std::string common;
  for (const std::string& word : words_of_query(query.text)) {
    std::string& list = is_common(file, word) ? common : rare;
    list += (list.empty() ? "" : " OR ") + word;
  }
  std::vector<std::int64_t> keys = matching(file, rare, query, most);
  if (keys.size() >= query.most) return keys;
  for (const std::int64_t key : matching(file, common, query, most)) {
    const bool there = std::find(keys.begin(), keys.end(), key) != keys.end();
    if (!there && keys.size() < most) keys.push_back(key);
  }
  return keys;
}

std::vector<std::int64_t> newest(MemoryFile& file, const Query& query) {
  Statement find(file, "SELECT n.key FROM nodes n WHERE " TIFFANY_RECALLABLE
                       "ORDER BY n.made_us DESC, n.key DESC LIMIT ?");
  bind_filter(find, query);
  find.bind(static_cast<std::int64_t>(query.most));
  return keys_in(find);
}

void add_ranks(std::map<std::int64_t, double>& scores, const std::vector<std::int64_t>& ranked) {
  double rank = 1;
  for (const std::int64_t key : ranked) scores[key] += 1 / (kFusion + rank++);
}

// Best first.
std::vector<Hit> hits_in(const std::map<std::int64_t, double>& scores, std::size_t most) {
  std::vector<Hit> hits;
  for (const auto& [key, score] : scores) hits.push_back({key, score, 0});
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.key < b.key;
  });
  if (hits.size() > most) hits.resize(most);
  return hits;
}

// Notes that are some edges away, in either direction: the nearest first.
void add_neighbours(MemoryFile& file, const Query& query, std::vector<Hit>& hits) {
  std::vector<std::int64_t> from;
  for (const Hit& hit : hits) from.push_back(hit.key);
  Statement find(file,
                 "WITH RECURSIVE near(key, distance) AS ("
                 "SELECT value, 0 FROM json_each(?) UNION "
                 "SELECT iif(e.a = near.key, e.b, e.a), distance + 1 FROM near "
                 "JOIN edges e ON e.a = near.key OR e.b = near.key WHERE distance < ? LIMIT ?) "
                 "SELECT n.key, min(near.distance) AS least FROM near JOIN nodes n "
                 "ON n.key = near.key WHERE " TIFFANY_RECALLABLE
                 "GROUP BY n.key HAVING least > 0 ORDER BY least, n.key LIMIT ?");
  find.bind(to_json(from)).bind(std::int64_t{query.depth});
  find.bind(static_cast<std::int64_t>(MemoryLimits::kNeighbours));
  bind_filter(find, query);
  find.bind(static_cast<std::int64_t>(query.most));
  while (find.next()) {
    hits.push_back({find.integer(0), 0, static_cast<int>(find.integer(1))});
  }
}
#undef TIFFANY_RECALLABLE

}  // namespace

std::vector<std::string> words_of_query(std::string_view text) {
  text = text.substr(0, kLongestQuery);
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size() && words.size() < MemoryLimits::kTerms;) {
    std::size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, std::min(end - at, kLongestTerm));
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
    at = std::max(end, at + 1);
  }
  std::vector<std::string> quoted;  // a word has no quotes in it
  for (const std::string_view word : words) quoted.push_back("\"" + std::string(word) + "\"");
  return quoted;
}

void Memory::Parts::refresh_vectors(std::string_view model, std::size_t dimension) {
  const std::int64_t version = file.number("PRAGMA data_version");
  const bool same = vectors_model == model && vectors.dimension() == dimension;
  const std::int64_t space = space_of(model, dimension);
  if (!vectors_stale && same && version == vectors_version) {
    read_touched(space);
    if (!vectors.sparse()) return;
  }
  vectors_stale = true;
  vectors.clear(dimension);
  vectors_model = model;
  read_vectors(space);
  vectors_version = version;
  touched.clear();
  vectors_stale = false;
}

void Memory::Parts::read_vectors(std::int64_t space) {
  Statement all(file,
                "SELECT v.node, n.kind, n.expires_us, v.vector FROM vectors v "
                "JOIN nodes n ON n.key = v.node WHERE v.space = ?");
  all.bind(space);
  while (all.next()) vectors.put(all.integer(0), all.text(1), all.integer(2), all.bytes(3));
}

// A million vectors are not read again for one note.
void Memory::Parts::read_touched(std::int64_t space) {
  vectors_stale = true;  // should one of these throw
  for (const std::int64_t key : touched) {
    Statement find(file,
                   "SELECT n.kind, n.expires_us, v.vector FROM vectors v "
                   "JOIN nodes n ON n.key = v.node WHERE v.node = ? AND v.space = ?");
    if (find.bind(key).bind(space).next()) {
      vectors.put(key, find.text(0), find.integer(1), find.bytes(2));
    } else {
      vectors.remove(key);
    }
  }
  touched.clear();
  vectors_stale = false;
}

void Memory::Parts::touch(std::int64_t key) {
  constexpr std::size_t kMostTouched = 10'000;  // then all of them are read
  if (vectors_stale) return;
  touched.push_back(key);
  if (touched.size() > kMostTouched) vectors_stale = true;
}

Recollection Memory::recall(const Query& query) {
  require_query(query);
  const std::lock_guard turn(parts_->one_at_a_time);
  MemoryFile& file = parts_->file;
  Recollection found;
  {
    const Transaction transaction(file, Transaction::For::reading);
    const std::size_t most = query.most * kFusedLists;
    std::map<std::int64_t, double> scores;
    add_ranks(scores, by_words(file, query, most));
    if (!query.vector.empty()) {
      parts_->refresh_vectors(query.model, query.vector.size());
      std::vector<std::int64_t> near;
      for (const MemoryVectors::Near& each :
           parts_->vectors.nearest(query.vector, query.kinds, query.now_us, most)) {
        near.push_back(each.key);
      }
      add_ranks(scores, near);
    }
    if (query.text.empty() && query.vector.empty()) add_ranks(scores, newest(file, query));
    std::vector<Hit> hits = hits_in(scores, query.most);
    if (query.depth > 0) add_neighbours(file, query, hits);
    for (const Hit& hit : hits) {
      Recalled& note = found.notes.emplace_back(parts_->read(hit.key));
      note.score = hit.score;
      note.distance = hit.distance;
    }
  }
  if (!query.task.empty() && !found.notes.empty()) {
    Transaction transaction(file, Transaction::For::writing);
    for (const Recalled& note : found.notes) {
      parts_->mark_recalled(query.task, note.text, query.now_us);
    }
    transaction.commit();
  }
  return found;
}

}  // namespace tiffany::agent
