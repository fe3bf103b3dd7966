// Tunings as text, and their neighbours.
#include "passes/tuning.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace fuse {
namespace {

TEST(Tuning, TextReadsBack) {
  for (const Tuning &tuning : neighbours({1, -1, -2, 1, 1, 4, 3, RowForm::Held}, 4))
    EXPECT_EQ(parse_tuning(to_string(tuning)), tuning) << to_string(tuning);
  EXPECT_EQ(to_string(Tuning()), "");
  EXPECT_EQ(parse_tuning("elements=1,rows=looped").rows, RowForm::Looped);
}

std::string error_of(const std::string &text) {
  try {
    parse_tuning(text);
  } catch (const Error &e) {
    return e.code() == ErrorCode::InvalidArgument ? e.what() : "another code";
  }
  return "no error";
}

TEST(Tuning, WrongTextsAreNamed) {
  EXPECT_EQ(error_of("elements=9"), "tuning: elements=9 is not from -4 to 4");
  EXPECT_EQ(error_of("threads=x"), "tuning: threads=x is not from -4 to 4");
  EXPECT_EQ(error_of("vector=1"), "tuning: vector=1 is not from -4 to 0");
  EXPECT_EQ(error_of("rows=up"), "tuning: rows=up is none of rule, held, looped, piped");
  EXPECT_EQ(error_of("warps=2"),
            "tuning: 'warps=2' is none of elements=, threads=, vector=, blocks=, abreast=, "
            "resident=, stages=, rows=");
  EXPECT_EQ(error_of("stages="), "tuning: stages= is not from 0 to 8");
}

TEST(Tuning, NeighboursDifferInOneRespect) {
  Tuning from{1, 0, 0, 0, 0, 2, 0, RowForm::Held};
  std::vector<Tuning> all = neighbours(from, 2);
  EXPECT_EQ(std::count(all.begin(), all.end(), from), 0);
  for (const Tuning &t : all) {
    int differ = (t.elements != from.elements) + (t.threads != from.threads) +
                 (t.vector != from.vector) + (t.blocks != from.blocks) +
                 (t.abreast != from.abreast) + (t.resident != from.resident) +
                 (t.stages != from.stages) + (t.rows != from.rows);
    EXPECT_EQ(differ, 1) << to_string(t);
  }
}

TEST(Tuning, NothingLeavesItsRange) {
  Tuning edge{4, -4, -4, 4, 2, 32, 8, RowForm::Piped};
  for (const Tuning &t : neighbours(edge, 32)) EXPECT_NO_THROW(parse_tuning(to_string(t)));
}

}  // namespace
}  // namespace fuse
