// Boxes of the size of their texts, placed in layers; arrows as curves behind them.
#include "drawing.h"

#include "html.h"
#include "layers.h"
#include "text.h"

#include <algorithm>

namespace {

constexpr double kCharacter = 6.7, kLine = 14, kPadding = 8;  // of the font in the style

LayerBox size_of(const DrawnBox &box) {
  std::size_t longest = 0;
  for (const std::string &line : box.lines) longest = std::max(longest, line.size());
  return {static_cast<double>(longest) * kCharacter + 2 * kPadding,
          static_cast<double>(box.lines.size()) * kLine + kPadding};
}

std::string svg_arrow(const LayerBox &from, const LayerBox &to, const std::string &title) {
  double x0 = from.x + from.width / 2, y0 = from.y + from.height;
  double x1 = to.x + to.width / 2, y1 = to.y, bend = std::min(30.0, (y1 - y0) / 2);
  return formatted(
      "<path class=\"edge\" marker-end=\"url(#arrow-tip)\" d=\"M {:.1f} {:.1f} C {:.1f} {:.1f} "
      "{:.1f} "
      "{:.1f} {:.1f} {:.1f}\"><title>{}</title></path>\n",
      x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1, escaped(title));
}

std::string svg_box(const DrawnBox &box, const LayerBox &at) {
  std::string text = formatted(
      "<g class=\"{}\"><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\" rx=\"4\" />",
      box.kind, escaped(box.title), at.x, at.y, at.width, at.height);
  double y = at.y + kLine;
  for (const std::string &line : box.lines) {
    text += svg_text(at.x + kPadding, y, line);
    y += kLine;
  }
  text += "</g>";
  return box.link.empty() ? text + "\n"
                          : formatted("<a href=\"{}\">{}</a>\n", escaped(box.link), text);
}

}  // namespace

std::string svg_text(double x, double y, const std::string &text, const std::string &anchor) {
  return formatted("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", x, y,
                   anchor.empty() ? "" : formatted(" text-anchor=\"{}\"", anchor), escaped(text));
}

std::string svg_of(const Drawing &drawing) {
  std::vector<LayerBox> sizes;
  std::vector<LayerEdge> edges;
  for (const DrawnBox &box : drawing.boxes) sizes.push_back(size_of(box));
  for (const DrawnArrow &arrow : drawing.arrows) edges.push_back({arrow.from, arrow.to});
  Layers layers = lay_out(std::move(sizes), edges);
  std::string text = formatted(
      "<div class=\"drawing\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" "
      "height=\"{:.0f}\">\n",
      layers.width, layers.height);
  for (const DrawnArrow &a : drawing.arrows)
    text += svg_arrow(layers.boxes[a.from], layers.boxes[a.to], a.title);
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i)
    text += svg_box(drawing.boxes[i], layers.boxes[i]);
  return text + "</svg></div>\n";
}
