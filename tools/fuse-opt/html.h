// Pieces of HTML and SVG. Pages are well-formed XML as well, so that any parser reads them.
#pragma once

#include <string>
#include <string_view>

/// The text with what has a meaning in markup escaped, also within quotes. Bytes that are no UTF-8,
/// and control characters, become '?'.
std::string escaped(std::string_view text);

/// <pre>text</pre> behind a line that opens it.
std::string collapsible(std::string_view title, std::string_view text);

/// A page with the style of reports.
std::string page(std::string_view title, std::string_view body);

/// 1.23 GB, 45.6 us: three digits and a unit.
std::string bytes_text(double bytes);
std::string time_text(double microseconds);
