// Sizes in the place of symbols: through the text, in which they are the same tokens everywhere.
#include "passes/passes.h"

#include <cctype>

namespace fuse {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class SymbolReplacer {
 public:
  SymbolReplacer(std::string_view text, const Bindings &sizes) : text_(text), sizes_(sizes) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '"')
        copy_string();
      else if (is_word(text_[at_]))
        copy_word();
      else
        out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  std::string_view text_;
  const Bindings &sizes_;
  std::size_t at_ = 0;
  std::string out_;

  void copy_string() {
    do out_ += text_[at_++];
    while (at_ < text_.size() && text_[at_] != '"');
    if (at_ < text_.size()) out_ += text_[at_++];
  }

  std::string_view next_word() {
    std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void copy_word() {
    bool is_name = at_ > 0 && (text_[at_ - 1] == '%' || text_[at_ - 1] == '@');
    std::string word(next_word());
    if (!is_name && word == "symbol" && declares_a_size()) return skip_line();
    bool is_attribute = at_ < text_.size() && text_[at_] == '=';
    auto size = is_name || is_attribute ? sizes_.end() : sizes_.find(word);
    out_ += size == sizes_.end() ? word : std::to_string(size->second);
  }

  /// After the word `symbol`.
  bool declares_a_size() {
    std::size_t begin = at_ + 1, end = begin;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return sizes_.count(std::string(text_.substr(begin, end - begin))) > 0;
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
};

}  // namespace

std::string with_sizes(std::string_view text, const Bindings &sizes) {
  return SymbolReplacer(text, sizes).run();
}

Graph fix_sizes(const Graph &graph, const Bindings &sizes) {
  return parse(with_sizes(to_string(graph), sizes), graph.name());
}

}  // namespace fuse
