// Functions that expand to primitive operations at once; the graph keeps no trace of them.
//
// Conventions. Float builders take f16, bf16, f32, f64 (and f8 as storage): 16- and 8-bit operands
// are cast to f32 first and the result is rounded once to the dtype of x. Other operands are cast
// to the type computed in. Axes may be negative (from the end); `keep` leaves extent 1. Errors name
// the builder: Error{Shape, DType or InvalidArgument} at the caller's line. The same names work in
// texts; attributes there have the names of the parameters here.
#pragma once

#include <fuse/graph.h>

#include <cstdint>
#include <vector>

FUSE_BEGIN_NAMESPACE

// --- Views ---------------------------------------------------------------------------------------

/// Inserts an axis of extent 1 at the position: f32[4, 8] at 1 gives f32[4, 1, 8]. Any dtype.
/// Text: `unsqueeze %x axis=1`.
FUSE_API Value unsqueeze(Operand x, int axis);

/// Removes an axis of extent 1: f32[4, 1, 8] without axis 1 is f32[4, 8]. Any dtype.
/// Text: `squeeze %x axis=1`.
FUSE_API Value squeeze(Operand x, int axis);

/// x with the elements start, start + step, .. below stop of one axis replaced by the update, which
/// broadcasts to their shape. Both have one dtype, any. A step above 1 needs a static start.
/// Text: `slice_scatter %x, %u axis=0 start=2 stop=6 step=2`.
FUSE_API Value slice_scatter(Operand x, Value update, int axis, Dim start, Dim stop,
                             std::int64_t step = 1);

/// x with one position of an axis replaced by the update, which lacks that axis: f32[4, 8] and
/// f32[8] for axis 0. Text: `select_scatter %x, %u axis=0 index=3`.
FUSE_API Value select_scatter(Operand x, Value update, int axis, Dim index);

/// Zeros of the shape with the updates added where the index says: the adjoint of a gather. The
/// updates, of floats or integers, have the shape of the integer index in the place of the axis:
/// f32[B, T, 768] with i64[B, T] along axis 0 of [50257, 768]. What is out of range, negative
/// indices too, adds nothing. Each element is a sum over the whole index, rounded once; the
/// order does not depend on timing. Text: `scatter_add %index, %updates axis=0 : f32[50257, 768]`.
FUSE_API Value scatter_add(const Shape &shape, Value index, Operand updates, int axis = 0);

// --- Statistics over axes ------------------------------------------------------------------------

/// Sum over the number of elements; NaN where there are none. Text: `mean %x axes=[0, 1] keep`.
FUSE_API Value mean(Operand x, const std::vector<int> &axes, bool keep = false);

/// Two passes: the mean of squared differences from the mean, over n - correction elements.
/// Text: `var %x axes=[1] correction=1`.
FUSE_API Value var(Operand x, const std::vector<int> &axes, int correction = 0, bool keep = false);

/// Square root of var. Text: `stddev %x axes=[1] correction=1`.
FUSE_API Value stddev(Operand x, const std::vector<int> &axes, int correction = 0,
                      bool keep = false);

/// log(sum(exp(x))), with the maximum subtracted first; -inf where all elements are.
/// Text: `logsumexp %x axes=[1]`.
FUSE_API Value logsumexp(Operand x, const std::vector<int> &axes, bool keep = false);

/// exp(x - max) over its sum along an axis: bf16[B, 4096] gives bf16[B, 4096].
/// Text: `softmax %x axis=1`.
FUSE_API Value softmax(Operand x, int axis = -1);

/// Logarithm of softmax without leaving the logarithms. Text: `log_softmax %x axis=1`.
FUSE_API Value log_softmax(Operand x, int axis = -1);

/// Loss of each row: -log_softmax(logits) at the target. f32[B, 50257] and i64[B] give f32[B].
/// Rows with a negative target give 0, those with a target beyond the columns NaN.
/// Text: `cross_entropy %logits, %target axis=1`.
FUSE_API Value cross_entropy(Operand logits, Value target, int axis = -1);

/// x over its Euclidean norm along an axis, or over eps where that is larger.
/// Text: `normalize %x axis=1 eps=1e-12`.
FUSE_API Value normalize(Operand x, int axis = -1, double eps = 1e-12);

// --- Normalizations: (x - mean) / sqrt(variance + eps) * weight + bias ---------------------------
// Weights and biases may be empty (Value()).

/// Over the axes, which weight and bias extend along: bf16[B, T, 768] over {-1} with f32[768].
/// Text: `layer_norm %x, %weight, %bias axes=[2] eps=1e-5`.
FUSE_API Value layer_norm(Operand x, const std::vector<int> &axes, Value weight = {},
                          Value bias = {}, double eps = 1e-5);

/// x / sqrt(mean(x^2) + eps) * weight. Text: `rms_norm %x, %weight axes=[2] eps=1e-6`.
FUSE_API Value rms_norm(Operand x, const std::vector<int> &axes, Value weight = {},
                        double eps = 1e-6);

/// x is [N, C, ...]; C / groups channels are normalized together. Weight and bias are [C].
/// Text: `group_norm %x, %weight, %bias groups=32 eps=1e-5`.
FUSE_API Value group_norm(Operand x, std::int64_t groups, Value weight = {}, Value bias = {},
                          double eps = 1e-5);

/// With given statistics; they, weight and bias extend along the axis: f32[N, C, H, W] and f32[C].
/// Text: `batch_norm %x, %mean, %variance, %weight, %bias axis=1 eps=1e-5`.
FUSE_API Value batch_norm(Operand x, Value mean, Value variance, Value weight = {}, Value bias = {},
                          double eps = 1e-5, int axis = 1);

struct BatchNorm {
  Value y, running_mean, running_var;
};

/// With the statistics of x, and the running ones moved towards them by the momentum; the running
/// variance takes the unbiased one.
/// Text: `%y, %m, %v = batch_norm_training %x, %rm, %rv, %weight, %bias momentum=0.1 eps=1e-5`.
FUSE_API BatchNorm batch_norm_training(Operand x, Value running_mean, Value running_var,
                                       Value weight = {}, Value bias = {}, double momentum = 0.1,
                                       double eps = 1e-5, int axis = 1);

// --- Elementwise: the shape of x, NaN in gives NaN out -------------------------------------------

/// x * x; any arithmetic dtype.
FUSE_API Value square(Operand x);
/// 1 / x.
FUSE_API Value reciprocal(Operand x);
/// The tanh form of gelu, as x * sigmoid(2u), which keeps the digits of its left tail.
FUSE_API Value gelu(Operand x);
/// x times the normal distribution function, through erfc: exact also in the left tail.
FUSE_API Value gelu_erf(Operand x);
/// x * sigmoid(x).
FUSE_API Value silu(Operand x);
/// silu(gate) * up.
FUSE_API Value swiglu(Operand gate, Operand up);
/// log(1 + exp(beta * x)) / beta, without overflow. Text: `softplus %x beta=1.0`.
FUSE_API Value softplus(Operand x, double beta = 1);
/// max(x, 0); any arithmetic dtype.
FUSE_API Value relu(Operand x);
/// x, or slope * x where it is not positive. Text: `leaky_relu %x slope=0.01`.
FUSE_API Value leaky_relu(Operand x, double slope = 0.01);
/// x, or alpha * (exp(x) - 1) where it is not positive. Text: `elu %x alpha=1.0`.
FUSE_API Value elu(Operand x, double alpha = 1);
/// x * clamp(x + 3, 0, 6) / 6.
FUSE_API Value hardswish(Operand x);
/// min(max(x, lo), hi); any dtype with an order. Text: `clamp %x, 0.0, 6.0`.
FUSE_API Value clamp(Operand x, Operand lo, Operand hi);

// --- Random numbers ------------------------------------------------------------------------------

/// A stream of random numbers that the graph chooses: each call without a stream gets the next one
/// of a counter of the graph, from 2^32 on.
inline constexpr std::int64_t kNextStream = -1;

/// u32 words of Philox4x32-10, each a function of the seed, the stream and the row-major index e of
/// the element in the shape: word e % 4 of the block with counter e / 4 (64 bits), then the stream
/// (64 bits), and the seed as key. Seeds are u64 scalars: passed by value (Graph::scalar), 0-d
/// tensors, constants or computed. Calls of one seed and stream give the same words, those of
/// different streams independent ones: `random_bits(seed, {b, 4096}, 7)`. Without a stream the
/// order of the calls decides; graphs that share a seed and shall differ, or agree, name their
/// streams. Throws DType for other seeds and InvalidArgument for a negative stream or a literal
/// seed: `g.constant(42, u64)` is a value.
FUSE_API Value random_bits(Operand seed, const Shape &shape, std::int64_t stream = kNextStream);

// Each element of the following is a function of its own word of random_bits(seed, shape, stream):
// the same numbers on every machine and layout, and wherever they are computed again. Seeds and
// streams as there; in texts a seed may be a literal: `normal 42 stream=3 : f32[B, 8]`.

/// In [0, 1): the upper p bits of the word times 2^-p, with p the bits of the dtype's significand,
/// 32 at most: 24 for f32, 11 for f16, 8 for bf16, 32 for f64. Nothing is rounded, so 1 is not
/// reached. Text: `uniform %seed stream=3 : f32[B, 8]`.
FUSE_API Value uniform(Operand seed, DType type, const Shape &shape,
                       std::int64_t stream = kNextStream);

/// Of mean 0 and variance 1: sqrt(2) * erfinv(t), t the odd multiple of 2^-24 (f64: 2^-32) in
/// (-1, 1) that the word gives. Symmetric, never 0 or infinite, at most 5.42 (f64: 6.34) from 0;
/// 16-bit results are the f32 ones rounded. Text: `normal %seed stream=3 : f32[B, 8]`.
FUSE_API Value normal(Operand seed, DType type, const Shape &shape,
                      std::int64_t stream = kNextStream);

/// True with probability p, rounded to a multiple of 2^-32: where the word is below p * 2^32. p is
/// a literal in [0, 1], InvalidArgument otherwise, or a float scalar that changes from call to
/// call; what is out of range then counts as the nearer end.
/// Text: `bernoulli %seed, 0.3 stream=3 : bool[B]`.
FUSE_API Value bernoulli(Operand seed, Operand p, const Shape &shape,
                         std::int64_t stream = kNextStream);

/// x / (1 - p), or 0 with probability p, whatever x is there: where bernoulli(seed, p) is true for
/// the shape of x. p as there, x of 16 bits multiplied in its own type; p = 0 gives x and p = 1
/// zeros. The backward pass drops the same elements with the same seed and stream:
/// `dropout(dy, p, seed, stream)`. Text: `dropout %x, 0.1, %seed stream=3`.
FUSE_API Value dropout(Operand x, Operand p, Operand seed, std::int64_t stream = kNextStream);

// --- Embeddings ----------------------------------------------------------------------------------

/// Rotates the halves (a, b) of the last axis: (a*cos - b*sin, b*cos + a*sin). bf16[B, H, T, 128]
/// with cos and sin of f32[T, 64]. Text: `rotary_embedding %x, %cos, %sin`.
FUSE_API Value rotary_embedding(Operand x, Value cos, Value sin);

FUSE_END_NAMESPACE
