// Longest paths for the layers, barycenters for the order in them (Sugiyama, Tagawa and Toda,
// "Methods for visual understanding of hierarchical system structures", 1981).
#include "layers.h"

#include <algorithm>

namespace {

constexpr double kGap = 18, kLayerGap = 34, kMargin = 12;
constexpr int kSweeps = 6;

class LayerLayout {
 public:
  LayerLayout(std::vector<LayerBox> boxes, const std::vector<LayerEdge> &edges)
      : boxes_(std::move(boxes)),
        above_(boxes_.size()),
        below_(boxes_.size()),
        layer_(boxes_.size(), 0) {
    for (const auto &[from, to] : edges) {
      above_[to].push_back(from);
      below_[from].push_back(to);
    }
  }

  Layers run() {
    choose_layers();
    pack();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool is_down = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_.size(); ++i)
        order(layers_[is_down ? i : layers_.size() - 1 - i], is_down ? above_ : below_);
    }
    stack();
    return {std::move(boxes_), width_ + 2 * kMargin, height_};
  }

 private:
  using Neighbours = std::vector<std::vector<std::size_t>>;

  void choose_layers() {
    for (std::size_t i = 0; i < boxes_.size(); ++i)
      for (std::size_t other : above_[i]) layer_[i] = std::max(layer_[i], layer_[other] + 1);
    for (std::size_t i = boxes_.size(); i-- > 0;) {
      if (!above_[i].empty() || below_[i].empty()) continue;
      std::size_t first = layer_[below_[i][0]];
      for (std::size_t user : below_[i]) first = std::min(first, layer_[user]);
      layer_[i] = first - 1;
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (layers_.size() <= layer_[i]) layers_.resize(layer_[i] + 1);
      layers_[layer_[i]].push_back(i);
    }
  }

  double width_of(const std::vector<std::size_t> &layer) const {
    double width = -kGap;
    for (std::size_t i : layer) width += boxes_[i].width + kGap;
    return std::max(width, 0.0);
  }

  /// Each layer in the middle.
  void pack() {
    for (const auto &layer : layers_) width_ = std::max(width_, width_of(layer));
    for (const auto &layer : layers_) place(layer);
  }

  void place(const std::vector<std::size_t> &layer) {
    double x = kMargin + (width_ - width_of(layer)) / 2;
    for (std::size_t i : layer) {
      boxes_[i].x = x;
      x += boxes_[i].width + kGap;
    }
  }

  double middle(std::size_t i) const { return boxes_[i].x + boxes_[i].width / 2; }

  void order(std::vector<std::size_t> &layer, const Neighbours &neighbours) {
    std::vector<std::pair<double, std::size_t>> wanted;
    for (std::size_t i : layer) {
      double sum = 0;
      for (std::size_t n : neighbours[i]) sum += middle(n);
      auto count = static_cast<double>(neighbours[i].size());
      wanted.emplace_back(count > 0 ? sum / count : middle(i), i);
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (std::size_t k = 0; k < layer.size(); ++k) layer[k] = wanted[k].second;
    place(layer);
  }

  void stack() {
    double y = kMargin;
    for (const auto &layer : layers_) {
      double height = 0;
      for (std::size_t i : layer) {
        boxes_[i].y = y;
        height = std::max(height, boxes_[i].height);
      }
      y += height + kLayerGap;
    }
    height_ = std::max(0.0, y - kLayerGap) + kMargin;
  }

  std::vector<LayerBox> boxes_;
  Neighbours above_, below_;
  std::vector<std::size_t> layer_;
  std::vector<std::vector<std::size_t>> layers_;
  double width_ = 0, height_ = 0;
};

}  // namespace

Layers lay_out(std::vector<LayerBox> boxes, const std::vector<LayerEdge> &edges) {
  return LayerLayout(std::move(boxes), edges).run();
}
