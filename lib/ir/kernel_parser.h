// The parser of kernels: its state and its grammar, one member function a production.
//
// kernel_parse.cpp has names, signature, dims and layouts; kernel_parse_stmt.cpp statements.
#pragma once

#include "ir/index_parse.h"
#include "ir/kernel.h"
#include "ir/literal_text.h"

#include <map>

namespace fuse {

class KernelParser {
 public:
  explicit KernelParser(Lexer &lexer) : lexer_(lexer) {}

  /// Reads one kernel; what follows it stays at the lexer.
  Kernel parse();

 private:
  // --- Names -------------------------------------------------------------------------------------

  std::uint32_t find(const std::map<std::string, std::uint32_t> &names, const Token &name,
                     const char *what) const;
  void define(std::map<std::string, std::uint32_t> &names, const Token &name, std::size_t id,
              const char *what);

  /// An expression over symbols, or, in the body, over dims and values too.
  Index parse_expression(bool in_body);
  Index parse_bracketed();
  BufferId parse_buffer();
  ValueId parse_value();
  DimId parse_dim();
  LayoutId parse_layout_name();
  DType parse_dtype();

  // --- Signature, dims, layouts ------------------------------------------------------------------

  void parse_signature();
  Bindings parse_promises();
  int parse_setting(std::string_view name);
  void parse_parameters(BufferRole role);
  void parse_extents(std::vector<Index> &extents);
  void parse_attributes(Buffer &b);
  void parse_instances();
  void parse_dims();
  void parse_layout();
  Axis parse_axis();
  std::vector<DimId> parse_dim_list();
  Digit parse_digit();

  /// "@8" is one token; "@(N)" is not.
  void parse_stride(Index &stride);

  // --- Statements --------------------------------------------------------------------------------

  void parse_body(std::vector<Stmt> &body, int depth);
  Stmt parse_definition();

  /// Reads what follows the operation's word; gives the dtypes of the results.
  std::vector<DType> parse_operation(Stmt &s, const Token &word);
  DType operand_dtype(const Stmt &s) const { return k_.values[s.operands[0]].dtype; }

  DType parse_constant(Stmt &s);
  DType parse_statement_index(Stmt &s);
  DType parse_random(Stmt &s, const Token &word, const std::vector<std::string> &parts);
  DType parse_compute(Stmt &s, const Token &word);
  int parse_width(const Token &word, const std::string &part);

  /// ".8.streaming" of a load or store.
  void parse_access(Stmt &s, const Token &word, const std::vector<std::string> &parts);
  void parse_guard(Stmt &s);
  DType parse_load(Stmt &s, const Token &word, const std::vector<std::string> &parts);
  Stmt parse_store(const Token &word, const std::vector<std::string> &parts);
  DType parse_move(Stmt &s, const Token &word, const std::vector<std::string> &parts);
  DType parse_keep(Stmt &s);
  std::vector<DType> parse_fold(Stmt &s, StmtKind kind);

  /// A statement without results.
  Stmt parse_effect(int depth);

  Lexer &lexer_;
  Kernel k_;
  std::map<std::string, std::uint32_t> buffer_ids_, dim_ids_, layout_ids_, value_ids_;
  std::vector<bool> is_literal_;
  LayoutId layout_ = kNone;
};

/// Digits only.
bool is_number(const std::string &text);

}  // namespace fuse
