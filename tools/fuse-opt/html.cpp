// Escaping, numbers for people, and the frame of a page.
#include "html.h"

#include "text.h"

#include <array>

namespace {

constexpr const char *kStyle = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1180px; padding: 0 1em; color: #1b1f24; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; border-bottom: 1px solid #d0d7de; }
h3 { font-size: 1.05em; margin: 0 0 .4em; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2em .8em .2em 0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr:nth-child(odd) { background: #f6f8fa; }
pre { background: #f6f8fa; padding: .8em; overflow: auto; max-height: 40em; font-size: 12px; }
details { margin: .3em 0; } summary { cursor: pointer; }
section.kernel { border: 1px solid #d0d7de; border-radius: 6px; padding: .8em 1em; margin: 1em 0; }
section.kernel:target { border-color: #0969da; }
div.drawing { overflow: auto; max-height: 85vh; border: 1px solid #d0d7de; border-radius: 6px; }
svg text { font: 11px ui-monospace, monospace; fill: #1b1f24; }
svg .edge { fill: none; stroke: #8c959f; stroke-opacity: .7; }
svg .kernel rect { fill: #ddf4ff; stroke: #0969da; } svg .extern rect { fill: #fff8c5; stroke: #9a6700; }
svg .memory rect { fill: #ffffff; stroke: #8c959f; } svg .value rect { fill: #f6f8fa; stroke: #8c959f; }
svg .stored rect { stroke: #0969da; stroke-width: 2; }
svg .axis { stroke: #57606a; } svg .grid { stroke: #eaeef2; } svg .roof { stroke-width: 1.5; fill: none; }
svg a:hover rect, svg a:hover circle { stroke: #cf222e; stroke-width: 2; }
.bar { display: inline-block; height: .7em; } p.note { color: #57606a; }
)";

// The end of arrows, for all drawings. No kernel has a name with a hyphen.
constexpr const char *kArrowTip =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"0\" height=\"0\" style=\"position: "
    "absolute\"><defs><marker id=\"arrow-tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
    "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" "
    "fill=\"#8c959f\" /></marker></defs></svg>\n";

/// Bytes of the UTF-8 sequence at the start of the text; 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0u;
  bool is_out =
      (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f) ||
      (lead == 0xef && second == 0xbf && length == 3 && static_cast<unsigned char>(text[2]) > 0xbd);
  return is_out ? 0 : length;
}

std::string escaped_one(std::string_view sequence) {
  switch (sequence[0]) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: break;
  }
  auto byte = static_cast<unsigned char>(sequence[0]);
  bool is_control = byte < 0x20 && byte != '\n' && byte != '\t';
  return is_control || byte == 0x7f ? "?" : std::string(sequence);
}

/// Three digits of a number that is scaled to below 1,000.
std::string scaled(double value, const std::array<const char *, 4> &units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return formatted("{:.3g} {}", value, units[unit]);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    result += length == 0 ? "?" : escaped_one(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string collapsible(std::string_view title, std::string_view text) {
  return formatted("<details><summary>{}</summary><pre>{}</pre></details>\n", escaped(title),
                   escaped(text));
}

std::string page(std::string_view title, std::string_view body) {
  return formatted(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\" />\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}{}"
      "</body>\n</html>\n",
      escaped(title), kStyle, kArrowTip, body);
}

std::string bytes_text(double bytes) { return scaled(bytes, {"B", "KB", "MB", "GB"}); }

std::string time_text(double microseconds) {
  return microseconds < 1000 ? formatted("{:.1f} us", microseconds)
                             : scaled(microseconds / 1000, {"ms", "s", "ks", "Ms"});
}
