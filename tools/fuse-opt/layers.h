// Places for the boxes of a graph without cycles: in layers, from top to bottom.
#pragma once

#include <cstddef>
#include <vector>

struct LayerBox {
  double width = 0, height = 0;
  double x = 0, y = 0;  // of the upper left corner; set by the layout
};

struct LayerEdge {
  std::size_t from = 0, to = 0;  // from < to: boxes stand in an order that runs
};

struct Layers {
  std::vector<LayerBox> boxes;
  double width = 0, height = 0;
};

/// Every box below those that lead to it, sources right above their first user, and beside one
/// another in the order in which edges cross little. Boxes do not overlap. Time is linear in boxes
/// and edges, but for the sorting of layers.
Layers lay_out(std::vector<LayerBox> boxes, const std::vector<LayerEdge> &edges);
