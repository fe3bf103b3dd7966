// A graph as SVG: boxes with lines of text, arrows between them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct DrawnBox {
  std::string kind;  // its class in the style: kernel, extern, memory, value
  std::vector<std::string> lines;
  std::string title;  // shown where the pointer rests
  std::string link;   // "#k0"; empty: none
};

struct DrawnArrow {
  std::size_t from = 0, to = 0;  // from < to
  std::string title;
};

struct Drawing {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnArrow> arrows;
};

/// Texts are escaped here.
std::string svg_of(const Drawing &drawing);

/// One line of text in a drawing.
std::string svg_text(double x, double y, const std::string &text, const std::string &anchor = "");
