// What is saved and what is computed again: the same graph on several machines, marks, and errors.
#include "unit/message.h"
#include "unit/partition/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace fuse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- Three sigmoids ------------------------------------------------------------------------------

class Sigmoids : public testing::TestWithParam<const char *> {};

TEST_P(Sigmoids, AreComputedAgainInBf16) {
  Partition p = partition_for(sigmoid3(bf16), GetParam());
  EXPECT_EQ(passes_of(plan_named(p, "store all")), 9) << explain(p);
  EXPECT_EQ(p.chosen.forward.passes, 2) << explain(p);
  EXPECT_EQ(p.chosen.backward.passes, 3) << explain(p);
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
  EXPECT_THAT(p.chosen.inputs, ElementsAre("x"));
}

/// In f32 the derivative of a sigmoid is made of the very value that forward has.
TEST_P(Sigmoids, AreComputedAgainInF32) {
  Partition p = partition_for(sigmoid3(f32), GetParam());
  EXPECT_EQ(passes_of(plan_named(p, "store all")), 9) << explain(p);
  EXPECT_EQ(passes_of(plan_named(p, "outputs again")), 8) << explain(p);
  EXPECT_EQ(passes_of(&p.chosen), 5) << explain(p);
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
}

INSTANTIATE_TEST_SUITE_P(Targets, Sigmoids, testing::Values("a100", "h100", "h200"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Partition, ChoicesTellWhatTheOtherWayCosts) {
  Partition p = partition_for(sigmoid3(f32), "h200");
  const SavedChoice *s2 = choice_of(p, "s2");
  ASSERT_NE(s2, nullptr) << explain(p);
  double pass = 4.0 * 16384 * 11008 / 4.27e12 * 1e6;
  EXPECT_NEAR(s2->write_us, pass, 1e-3);
  EXPECT_NEAR(s2->gain_us, 2 * pass, 0.05 * pass) << explain(p);
  const SavedChoice *out = choice_of(p, "y");
  ASSERT_NE(out, nullptr) << explain(p);
  EXPECT_EQ(out->write_us, 0);
  EXPECT_NEAR(out->gain_us, pass, 0.05 * pass) << explain(p);
}

// --- Where storing is right ----------------------------------------------------------------------

/// The derivative by w of f(x) * w reads f(x), a chain of functions.
Graph weighted_chain(DType type, int length) {
  return joint_of(
      [&](Graph &g) {
        Value x = g.input("x", type, {8192, 8192}), w = g.input("w", type, {8192, 8192});
        Value v = x;
        for (int i = 0; i < length; ++i) v = i % 2 ? exp(v) : sin(v);
        return v.named("v") * w;
      },
      {"w"});
}

TEST(Partition, ALongChainIsStored) {
  for (const char *target : {"a100", "h100", "h200", "b200"}) {
    Partition p = partition_for(weighted_chain(f32, 40), target);
    EXPECT_THAT(p.saved, ElementsAre("v")) << explain(p);
    EXPECT_GT(choice_of(p, "v")->gain_us, 0) << explain(p);
  }
}

TEST(Partition, AShortChainIsComputedAgain) {
  Partition p = partition_for(weighted_chain(f32, 2), "h200");
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
}

int longest_recomputed(DType type, const char *target) {
  int length = 1;
  while (length < 40 && partition_for(weighted_chain(type, length), target).saved.empty()) ++length;
  return length - 1;
}

TEST(Partition, TheFlipDependsOnTheMachine) {
  // More bandwidth for as many functions: the B200 stores first.
  int a100 = longest_recomputed(f32, "a100"), b200 = longest_recomputed(f32, "b200");
  RecordProperty("a100", a100);
  RecordProperty("b200", b200);
  EXPECT_LT(b200, a100);
}

TEST(Partition, F64IsStoredWhereUnitsAreFew) {
  Graph joint = weighted_chain(f64, 2);
  Partition many = partition_for(joint, "h100"), few = partition_for(joint, "rtx4090");
  EXPECT_THAT(many.saved, IsEmpty()) << explain(many);
  EXPECT_THAT(few.saved, ElementsAre("v")) << explain(few);
}

// --- Budgets -------------------------------------------------------------------------------------

/// Blocks whose values are dear to compute, each read by the derivative of the next.
Graph deep(int blocks) {
  return joint_of(
      [&](Graph &g) {
        Value v = g.input("x", f32, {4096, 4096});
        for (int b = 0; b < blocks; ++b) {
          Value w = g.input("w" + std::to_string(b), f32, {1, 4096});
          for (int i = 0; i < 4; ++i) v = i % 2 ? lgamma(v) : atan(v);
          v = (v * w).named("v" + std::to_string(b));
        }
        return v;
      },
      {"x"});
}

TEST(Partition, LessMemoryTakesMoreTime) {
  Graph joint = deep(3);
  Partition free = partition_for(joint, "h200");
  ASSERT_GE(free.frontier.size(), 2u) << explain(free);
  for (std::size_t i = 1; i < free.frontier.size(); ++i) {
    EXPECT_GT(free.frontier[i].kept_bytes, free.frontier[i - 1].kept_bytes);
    EXPECT_LT(free.frontier[i].predicted_us, free.frontier[i - 1].predicted_us);
  }
  double before = free.chosen.predicted_us;
  for (std::int64_t budget = free.chosen.kept_bytes; budget >= free.frontier[0].kept_bytes;
       budget -= free.frontier[0].kept_bytes) {
    PartitionOptions options;
    options.budget_bytes = budget;
    Partition p = partition(joint, options);
    EXPECT_LE(p.chosen.kept_bytes, budget) << explain(p);
    EXPECT_GE(p.chosen.predicted_us, before * (1 - 1e-9)) << explain(p);
    before = p.chosen.predicted_us;
  }
}

TEST(Partition, ABudgetBelowTheLeastIsRefused) {
  PartitionOptions options;
  options.budget_bytes = 1000;
  EXPECT_THAT(
      message_of([&] { (void)partition(sigmoid3(bf16), options); }),
      HasSubstr("cannot keep to a budget of 1000 bytes: backward needs at least 360710144"));
}

// --- Plans by name -------------------------------------------------------------------------------

TEST(Partition, AnyPlanIsMadeOfWhatItSaves) {
  Graph joint = weighted_chain(f32, 40);
  Partition p = partition_for(joint, "h200");
  ASSERT_TRUE(plan_named(p, "store all") && plan_named(p, "recompute")) << explain(p);
  for (const PartitionPlan &plan : p.plans) {
    PartitionOptions options;
    options.save = plan.saved;
    Partition same = partition(joint, options);
    EXPECT_EQ(same.chosen.name, plan.name) << explain(same);
    EXPECT_EQ(same.saved, plan.saved);
    EXPECT_EQ(same.chosen.predicted_us, plan.predicted_us);
    EXPECT_EQ(same.chosen.kept_bytes, plan.kept_bytes);
    EXPECT_EQ(same.backward.data().inputs.size(), plan.saved.size() + plan.inputs.size() + 1);
  }
}

TEST(Partition, ValuesWithoutNamesAreSavedByThoseOfPlans) {
  Partition p = partition_for(sigmoid3(bf16), "h200");
  const PartitionPlan *all = plan_named(p, "store all");
  ASSERT_TRUE(all && all->saved.size() == 2) << explain(p);
  PartitionOptions options;
  options.save = {all->saved[1]};
  EXPECT_EQ(partition(sigmoid3(bf16), options).saved, *options.save);
}

TEST(Partition, WhatCannotBeSavedIsRefused) {
  PartitionOptions options;
  auto message = [&] { return message_of([&] { (void)partition(sigmoid3(f32), options); }); };
  options.save = {"s9"};
  EXPECT_THAT(message(), HasSubstr("graph g has no value s9 that can be saved; did you mean s"));
  options.save = {"x"};  // an input: read again, whatever is saved
  EXPECT_THAT(message(), HasSubstr("no value x that can be saved"));
  options.save = {"s1", "s2"};
  options.budget_bytes = 1000;
  EXPECT_THAT(message(), HasSubstr("cannot keep to a budget of 1000 bytes"));
}

// --- Marks ---------------------------------------------------------------------------------------

TEST(Partition, KeptValuesAreSaved) {
  Graph joint = joint_of(
      [](Graph &g) {
        Value s = sigmoid(g.input("x", f32, {4096, 4096})).keep().named("s");
        return sigmoid(s);
      },
      {"x"});
  Partition p = partition_for(joint, "h200");
  EXPECT_THAT(p.saved, ElementsAre("s")) << explain(p);
  EXPECT_EQ(choice_of(p, "s")->why, "marked to be kept");
}

TEST(Partition, MarkedValuesAreComputedAgain) {
  auto build = [](bool marked) {
    return joint_of(
        [&](Graph &g) {
          Value v = g.input("x", f32, {4096, 4096}), w = g.input("w", f32, {4096, 4096});
          for (int i = 0; i < 40; ++i) v = sin(v);
          v.named("v");
          if (marked) recompute(v);
          return v * w;
        },
        {"w"});
  };
  EXPECT_THAT(partition_for(build(false), "h200").saved, ElementsAre("v"));
  Partition p = partition_for(build(true), "h200");
  EXPECT_FALSE(saves(p, "v")) << explain(p);
}

TEST(Partition, CheckpointsSaveNothingInside) {
  Graph joint = joint_of(
      [](Graph &g) {
        Value x = g.input("x", f32, {4096, 4096}), w = g.input("w", f32, {4096, 4096});
        Value v = x;
        for (int i = 0; i < 40; ++i) v = sin(v);
        Value y = tanh(v * w);
        checkpoint({y}, {x, w});
        return y;
      },
      {"w"});
  Partition p = partition_for(joint, "h200");
  EXPECT_THAT(p.saved, testing::AnyOf(IsEmpty(), ElementsAre("y"))) << explain(p);
}

TEST(Partition, MarksSurviveInTexts) {
  std::string text =
      "graph @g(%x: f32[4]) {\n"
      "  %0 = exp %x : f32[4] recomputed\n"
      "  %a = sin %0 : f32[4] stored\n"
      "  %b, %c = extern \"mm\"(%a) : f32[4], f32[4] recomputed\n"
      "  return %a as a, %b as b, %c as c\n"
      "}\n";
  Graph g = parse(text);
  EXPECT_EQ(to_string(g), text);
  EXPECT_FALSE(g == parse("graph @g(%x: f32[4]) { %0 = exp %x %a = sin %0 stored "
                          "%b, %c = extern \"mm\"(%a) : f32[4], f32[4] recomputed return %a as a, "
                          "%b as b, %c as c }"));
}

// --- Extern operations ---------------------------------------------------------------------------

Graph with_product(bool marked) {
  return joint_of(
      [&](Graph &g) {
        Value x = g.input("x", f32, {4096, 4096}), w = g.input("w", f32, {4096, 4096});
        Value h = g.extern_op("mm", {exp(x), x}, {{f32, {4096, 4096}}})[0].named("h");
        if (marked) recompute(h);
        return h * w;
      },
      {"w"});
}

TEST(Partition, ExternOperationsAreCalledOnce) {
  Partition p = partition_for(with_product(false), "h200");
  EXPECT_THAT(p.saved, ElementsAre("h")) << explain(p);
  EXPECT_EQ(choice_of(p, "h")->why, "an extern operation gives it");
  EXPECT_THAT(to_string(p.backward), testing::Not(HasSubstr("extern")));
}

TEST(Partition, AMarkLetsExternOperationsBeCalledAgain) {
  Partition p = partition_for(with_product(true), "h200");
  EXPECT_FALSE(saves(p, "h")) << explain(p);
  EXPECT_THAT(to_string(p.backward), HasSubstr("extern \"mm\""));
}

// --- Names and errors ----------------------------------------------------------------------------

TEST(Partition, ALossHasNoCotangent) {
  Graph g("g");
  Value x = g.input("x", f32, {4096, 4096});
  g.output("loss", sum(square(tanh(x)), {0, 1}));
  Partition p = partition(grad(g, {"x"}));
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
  EXPECT_EQ(p.forward.data().outputs[0].name, "loss");
  EXPECT_EQ(p.backward.data().outputs[0].name, "d_x");
}

TEST(Partition, WhatGraphsLackIsNamed) {
  Graph g("g");
  g.output("y", exp(g.input("x", f32, {4})));
  EXPECT_THAT(message_of([&] { (void)partition(g); }),
              HasSubstr("graph g has no outputs named d_<input>: make them with grad or vjp"));
  PartitionOptions options;
  options.derivatives = {"z"};
  EXPECT_THAT(message_of([&] { (void)partition(g, options); }),
              HasSubstr("graph g has no output z"));
  options.derivatives = {"y"};
  options.cotangents = {"y"};
  EXPECT_THAT(message_of([&] { (void)partition(g, options); }), HasSubstr("has no input y"));
}

TEST(Partition, OtherOutputsMayNotDependOnCotangents) {
  Graph g("g");
  Value x = g.input("x", f32, {4}), d_y = g.input("d_y", f32, {4});
  g.output("y", exp(x));
  g.output("d_x", exp(x) * d_y);
  g.output("z", x + d_y);
  EXPECT_THAT(message_of([&] { (void)partition(g); }),
              HasSubstr("output z depends on a cotangent: name it in"));
}

TEST(Partition, InputsAreNotComputed) {
  Graph g("g");
  Value x = g.input("x", f32, {4});
  EXPECT_THAT(message_of([&] { recompute(x); }), HasSubstr("recompute: x is an input"));
}

}  // namespace
