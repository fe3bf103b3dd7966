// A statement of graph text between syntax and meaning: what the parser read, and what an operation
// may ask of it.
//
// graph_parse.cpp reads statements, build_statement.cpp makes primitive nodes of them and
// text_builders.cpp calls the builders.
#pragma once

#include "ir/build.h"
#include "ir/lexer.h"
#include "ir/literal_text.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuse {

struct TextOperand {
  Token at;
  bool is_value = false;
  NodeId node = kNoNode;  // of a value
  NumberText number;      // of a literal
};

/// "f32[B, 4]"; without brackets the shape is inferred where that is possible, else of rank 0.
struct TextType {
  Token at;
  DType dtype = DType::F32;
  std::optional<Shape> shape;
};

/// name=[1, -2], name=0.5, name=B + 1 or the bare word keep.
struct TextAttribute {
  Token at;
  std::optional<std::vector<std::int64_t>> list;
  std::optional<double> real;
  Dim dim;
};

struct TextRange {
  Dim start, stop;
  std::int64_t step = 1;
};

struct Statement {
  std::vector<Token> results;
  Token op;
  std::string extern_name;
  std::vector<TextOperand> operands;
  std::map<std::string, TextAttribute> attributes;
  std::vector<TextRange> ranges;  // of a slice
  std::vector<TextType> types;
  std::shared_ptr<const Graph> rule;  // of a custom gradient
  bool is_stored = false, is_recomputed = false;
};

/// What an operation asks of its statement. Every failure is Error{Parse} at the token at fault.
class Arguments {
 public:
  Arguments(const Lexer &lexer, GraphData &graph, const Statement &statement, SourceLocation where)
      : lexer_(lexer), graph_(graph), statement_(statement), where_(where) {}

  GraphData &graph() const { return graph_; }
  const Statement &statement() const { return statement_; }
  SourceLocation where() const { return where_; }

  /// Insists on at least `min` and at most `max` operands.
  void expect_operands(std::size_t min, std::size_t max) const;
  void expect_operands(std::size_t count) const { expect_operands(count, count); }

  /// The node of an operand that must be a value, or the literal made a node of the dtype.
  NodeId node(std::size_t i) const;
  NodeId node(std::size_t i, DType literal_dtype) const;

  /// Operands of builders. An operand that is left out is the empty value.
  Operand operand(std::size_t i) const;
  Value value(std::size_t i) const;

  /// The type after the colon; an error if there is none.
  const TextType &type() const;

  // Attributes. Without a default they must be there.
  int axis(const char *name);
  int axis(const char *name, int otherwise);
  std::vector<int> axes(const char *name);  // axes=[0, 1]; axis=1 serves too
  std::vector<std::int64_t> list(const char *name);
  std::int64_t integer(const char *name);
  std::int64_t integer(const char *name, std::int64_t otherwise);
  int small_integer(const char *name, int otherwise);  // of magnitude up to 2^20
  double real(const char *name, double otherwise);
  Dim dim(const char *name);
  bool word(const char *name);  // a bare word: keep, exclusive, reverse
  std::int64_t stream();        // kNextStream where it is left out

  /// An error at the first attribute that nobody asked for.
  void expect_all_used() const;

  [[noreturn]] void error(const Token &at, const std::string &message) const {
    lexer_.error(at, message);
  }

 private:
  const TextAttribute *find(const char *name);
  const TextAttribute &need(const char *name);
  std::int64_t integer_of(const TextAttribute &attribute) const;
  int axis_of(const Token &at, std::int64_t axis) const;

  const Lexer &lexer_;
  GraphData &graph_;
  const Statement &statement_;
  SourceLocation where_;
  std::set<std::string> known_;  // attributes that were asked for
};

/// The file's name, which lives as long as the process: graphs and errors refer to it.
const char *intern_file(std::string_view file);

/// The results of a primitive operation or of a builder; empty if there is none of that name.
std::vector<NodeId> build_statement(Arguments &arguments);
std::vector<NodeId> build_text_builder(Arguments &arguments);

/// Names of all builders that texts may use, sorted.
std::vector<std::string_view> text_builder_names();

}  // namespace fuse
