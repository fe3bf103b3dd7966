// Escaping, and numbers for people.
#include "html.h"

#include <gtest/gtest.h>

TEST(Html, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escaped("a < b && c > \"d\" 'e'"),
            "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
  EXPECT_EQ(escaped("line\n\ttab"), "line\n\ttab");
}

TEST(Html, KeepsUtf8AndNothingElse) {
  EXPECT_EQ(escaped("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(escaped("\xff \xc3 \xe2\x82 \xc0\xaf \xed\xa0\x80"), "? ? ?? ?? ???")
      << "torn or too long";
  EXPECT_EQ(escaped(std::string("\x01 \x7f \0", 5)), "? ? ?");
  EXPECT_EQ(escaped("\xef\xbf\xbf"), "???") << "no character of XML";
}

TEST(Html, NumbersHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(536870912), "537 MB");
  EXPECT_EQ(bytes_text(1.25e15), "1.25e+06 GB");
  EXPECT_EQ(time_text(45.64), "45.6 us");
  EXPECT_EQ(time_text(1395), "1.4 ms");
}

TEST(Html, TextsAreCollapsed) {
  EXPECT_EQ(collapsible("a<b", "x&y"),
            "<details><summary>a&lt;b</summary><pre>x&amp;y</pre></details>\n");
}
