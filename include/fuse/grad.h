// Gradients: reverse mode on graphs.
//
// A graph is differentiated into a graph: cotangents are values as all others, so they are planned
// together with what they belong to, and are differentiated by asking again. Names: the cotangent
// of a value y is the derivative of some number by each element of y; vjp carries cotangents of
// outputs back to inputs, grad begins with ones.
//
// A cotangent has the dtype and the shape of its value. Floats have gradients; integers and bools
// have none, and what passes through them counts as constant. Values that an output does not depend
// on have cotangents of 0. docs/grad.md has every convention: ties, bounds, poles, 16-bit floats.
//
//   Value loss = sum(square(x * w - t), {0, 1});
//   std::vector<Value> d = grad(loss, {x, w});             // in the same graph
//   std::vector<Value> dd = grad(sum(d[0], {0, 1}), {w});  // of the derivative
#pragma once

#include <fuse/graph.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

FUSE_BEGIN_NAMESPACE

/// Cotangents of the inputs, one each and in their order, from those of the outputs: bf16[B, 8] of
/// bf16[B, 8]. Inputs are any values of the graph, those that others are computed from too; an
/// output may repeat. Adds to the graph of the outputs, in time linear in its size.
/// Throws, at the place given, Error{InvalidArgument} for values that are empty or of another
/// graph, for another number of cotangents than of outputs, and for an extern operation on the way
/// without a custom gradient; Error{DType} for outputs and inputs that are no floats and for
/// cotangents of another dtype than their output; Error{Shape} for those of another shape.
FUSE_API std::vector<Value> vjp(const std::vector<Value> &outputs,
                                const std::vector<Value> &cotangents,
                                const std::vector<Value> &inputs,
                                SourceLocation where = SourceLocation::current());

/// Derivatives of the output, or of the sum of its elements, by each element of the inputs. Errors
/// as vjp.
FUSE_API std::vector<Value> grad(Value output, const std::vector<Value> &inputs,
                                 SourceLocation where = SourceLocation::current());

/// The graph with its outputs and, behind them, the derivative of one by each of the inputs, as
/// outputs d_<input>: `grad(g, {"x", "w"}, "loss")`. Names are those of inputs, or of values that
/// have names; the output may be left out where there is one. A name that is taken gets a number:
/// d_x_2. Errors as vjp; Error{InvalidArgument} for names that the graph does not have.
FUSE_API Graph grad(const Graph &graph, const std::vector<std::string> &inputs,
                    const std::string &output = {});

/// The same with the cotangents of the outputs as further inputs d_<output>, behind the others.
FUSE_API Graph vjp(const Graph &graph, const std::vector<std::string> &inputs,
                   const std::vector<std::string> &outputs);

// --- Values that say how gradients pass ----------------------------------------------------------
//
// They are nodes of the graph, in texts too, and gone before anything is planned: they cost
// nothing. They throw at the caller's line, as all builders.

/// x, of any dtype, through which no gradient passes. Text: `stop_gradient %x`.
FUSE_API Value stop_gradient(Operand x);

/// The value y, whose gradient the rule gives: it does not pass to what y is computed from, but to
/// the inputs. The rule is a graph of its own: its inputs are the cotangent of y and the values of
/// the inputs, of their types; its outputs are the cotangents of the first inputs, of their types.
/// Further inputs are only read. The rule may have extern operations; it is differentiated as other
/// values are. A rule stands for one value: of several results each has its own. Text:
///   %y = extern "mm"(%a, %b) : bf16[B, 8]
///   %z = custom_gradient %y, %a, %b graph @mm_backward(%dy: bf16[B, 8], ..) { .. }
/// Throws Error{DType} for values and inputs without gradients, Error{Shape} for inputs and outputs
/// of the rule of other types, and Error{InvalidArgument} for other numbers of them and for symbols
/// that the graph of y does not have, or has with wider bounds.
FUSE_API Value custom_gradient(Operand y, const std::vector<Value> &inputs, const Graph &rule);

/// Makes the graph of a rule: of the cotangent of y and the values of the inputs, in this graph, it
/// gives the cotangents of the first inputs.
using GradientRule = std::function<std::vector<Value>(Value dy, const std::vector<Value> &inputs)>;

/// The same with a function that builds the rule, whose random bits go on with the graph's streams:
///   y = custom_gradient(floor(x), {x}, [](Value dy, auto &) { return std::vector{2.0 * dy}; });
FUSE_API Value custom_gradient(Operand y, const std::vector<Value> &inputs,
                               const GradientRule &rule);

/// Graph::extern_op in the graph of the operands: for such functions, which have values alone, and
/// for other builders. Errors as there, and Error{InvalidArgument} without operands.
FUSE_API std::vector<Value> extern_op(std::string_view name, const std::vector<Value> &operands,
                                      const std::vector<Graph::TensorType> &results,
                                      SourceLocation where = SourceLocation::current());

/// The value y with the gradient of x, as for quantization: `straight_through(round(x), x)`. Both
/// have one shape and float dtypes, which may differ.
FUSE_API Value straight_through(Operand y, Value x);

FUSE_END_NAMESPACE
