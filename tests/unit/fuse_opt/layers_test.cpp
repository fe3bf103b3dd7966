// Places of boxes: layers, and no two in one place.
#include "layers.h"

#include <gtest/gtest.h>

#include <random>

namespace {

void expect_apart(const Layers &layers) {
  for (std::size_t i = 0; i < layers.boxes.size(); ++i) {
    const LayerBox &a = layers.boxes[i];
    EXPECT_GE(a.x, 0);
    EXPECT_LE(a.x + a.width, layers.width);
    EXPECT_LE(a.y + a.height, layers.height);
    for (std::size_t k = i + 1; k < layers.boxes.size(); ++k) {
      const LayerBox &b = layers.boxes[k];
      EXPECT_TRUE(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y ||
                  b.y + b.height <= a.y)
          << i << " and " << k;
    }
  }
}

}  // namespace

TEST(Layers, NothingHasNoPlace) {
  Layers none = lay_out({}, {});
  EXPECT_TRUE(none.boxes.empty());
  EXPECT_GE(none.width, 0);
}

TEST(Layers, UsersAreBelow) {
  std::mt19937 random(3);
  std::vector<LayerBox> boxes;
  std::vector<LayerEdge> edges;
  for (std::size_t i = 0; i < 200; ++i) {
    boxes.push_back({20 + static_cast<double>(random() % 90), 30});
    for (int e = 0; i > 0 && e < 2; ++e) edges.push_back({random() % i, i});
  }
  Layers layers = lay_out(boxes, edges);
  expect_apart(layers);
  for (const auto &[from, to] : edges)
    EXPECT_LT(layers.boxes[from].y + layers.boxes[from].height, layers.boxes[to].y);
}

TEST(Layers, ASourceIsRightAboveItsFirstUser) {
  // 0 -> 1 -> 2 -> 4, 3 -> 4
  Layers layers =
      lay_out({{10, 10}, {10, 10}, {10, 10}, {10, 10}, {10, 10}}, {{0, 1}, {1, 2}, {2, 4}, {3, 4}});
  EXPECT_EQ(layers.boxes[3].y, layers.boxes[2].y);
}

TEST(Layers, ParallelChainsDoNotCross) {
  // 0 -> 3, 1 -> 4, 2 -> 5, given so that the second layer stands in another order.
  Layers layers = lay_out({{10, 10}, {10, 10}, {10, 10}, {10, 10}, {10, 10}, {10, 10}},
                          {{2, 3}, {0, 4}, {1, 5}});
  auto x = [&](std::size_t i) { return layers.boxes[i].x; };
  EXPECT_EQ(x(0) < x(1), x(4) < x(5));
  EXPECT_EQ(x(1) < x(2), x(5) < x(3));
  EXPECT_EQ(x(0) < x(2), x(4) < x(3));
}
