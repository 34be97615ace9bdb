#include "tiffany/base/intrusive_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "tiffany/base/random.hpp"

namespace tiffany::intrusive_list_test {

struct Letter {
  explicit Letter(char c) : name(c) {}
  char name;
  Letter* next = nullptr;
  Letter* prev = nullptr;
};

std::string text(const IntrusiveList<Letter>& list) {
  std::string out;
  for (const Letter* each = list.first(); each != nullptr; each = each->next) out += each->name;
  return out;
}

TEST(IntrusiveList, IsFirstInFirstOut) {
  Letter a('a'), b('b'), c('c');
  IntrusiveList<Letter> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop(), nullptr);
  list.push(a);
  list.push(b);
  list.push_front(c);
  EXPECT_EQ(text(list), "cab");
  EXPECT_EQ(list.pop(), &c);
  EXPECT_EQ(list.pop(), &a);
  EXPECT_EQ(list.pop(), &b);
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, AnElementLeavesFromAnywhereAndMayComeBack) {
  Letter a('a'), b('b'), c('c');
  IntrusiveList<Letter> list;
  for (Letter* each : {&a, &b, &c}) list.push(*each);
  list.remove(b);
  EXPECT_EQ(text(list), "ac");
  list.push(b);
  list.remove(a);
  list.remove(b);
  EXPECT_EQ(text(list), "c");
  list.remove(c);
  list.push(a);
  EXPECT_EQ(text(list), "a");
}

TEST(IntrusiveList, AnotherElementTakesAPlace) {
  Letter a('a'), b('b'), c('c'), d('d');
  IntrusiveList<Letter> list;
  for (Letter* each : {&a, &b, &c}) list.push(*each);
  list.replace(b, d);
  EXPECT_EQ(text(list), "adc");
  list.replace(a, b);
  list.replace(c, a);
  EXPECT_EQ(text(list), "bda");
  list.push(c);
  EXPECT_EQ(text(list), "bdac");
}

TEST(IntrusiveList, ElementsMoveWithTheList) {
  Letter a('a'), b('b');
  IntrusiveList<Letter> list;
  list.push(a);
  list.push(b);
  IntrusiveList<Letter> other(std::move(list));
  EXPECT_TRUE(list.empty());
  list.push(other.pop() == &a ? a : b);
  EXPECT_EQ(text(list), "a");
  EXPECT_EQ(text(other), "b");
  list = std::move(other);
  EXPECT_EQ(text(list), "b");
}

TEST(IntrusiveList, DoesWhatADequeDoes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, "list");
    std::array<Letter, 6> letters{Letter('a'), Letter('b'), Letter('c'),
                                  Letter('d'), Letter('e'), Letter('f')};
    IntrusiveList<Letter> list;
    std::deque<char> model;
    for (int i = 0; i < 200; ++i) {
      Letter& letter = letters[static_cast<std::size_t>(random.below(letters.size()))];
      if (std::erase(model, letter.name) > 0) {
        list.remove(letter);
      } else if (random.below(2) == 0) {
        list.push(letter);
        model.push_back(letter.name);
      } else {
        list.push_front(letter);
        model.push_front(letter.name);
      }
      ASSERT_EQ(text(list), std::string(model.begin(), model.end())) << "seed " << seed;
    }
  }
}

#ifndef NDEBUG

TEST(IntrusiveListDeathTest, WhatIsInNoListCannotBeRemoved) {
  Letter a('a'), b('b');
  IntrusiveList<Letter> list;
  list.push(a);
  EXPECT_DEATH(list.remove(b), "removed from a list that it is not in");
}

#endif

}  // namespace tiffany::intrusive_list_test
