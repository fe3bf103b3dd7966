"""The programs of bench/suite in JAX. Given f64 they compute in f64, which is what results are compared
with."""
import jax
import jax.numpy as jnp


def wide(x):
    """As programs compute: 16-bit floats and integers in f32."""
    return x if x.dtype == jnp.float64 else x.astype(jnp.float32)


def gelu(x):
    return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_dropout(x, residual, seed):
    kept = jax.random.bernoulli(jax.random.key(seed), 0.9, x.shape)
    return residual + jnp.where(kept, gelu(x) / 0.9, 0).astype(x.dtype)


def swiglu(gate, up):
    return gate * jax.nn.sigmoid(gate) * up


def chain10(x):
    root = jnp.sqrt(jnp.abs(1 + 0.5 * x))
    product = jnp.maximum(jnp.tanh(root - x) * root, -1)
    return -(product * product)


def sigmoid3(x):
    return jax.nn.sigmoid(jax.nn.sigmoid(jax.nn.sigmoid(x)))


def softmax_wide(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax(x):
    return softmax_wide(wide(x)).astype(x.dtype)


def masked_softmax(x, mask):
    return softmax_wide(jnp.where(mask, -jnp.inf, wide(x) * 0.125)).astype(x.dtype)


def cross_entropy(logits, target):
    x = wide(logits)
    top = x.max(-1, keepdims=True)
    total = jnp.log(jnp.exp(x - top).sum(-1, keepdims=True)) + top
    return (total - jnp.take_along_axis(x, target[:, None], 1))[:, 0]


def normalized(x, axes, eps):
    centered = x - x.mean(axes, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.square(centered).mean(axes, keepdims=True) + eps)


def layer_norm(x, w, b):
    return (normalized(wide(x), -1, 1e-5) * wide(w) + wide(b)).astype(x.dtype)


def rms_norm(x, w):
    f = wide(x)
    scale = jax.lax.rsqrt(jnp.square(f).mean(-1, keepdims=True) + 1e-6)
    return (f * scale * wide(w)).astype(x.dtype)


def add_rms_norm(x, residual, w):
    h = x + residual
    return h, rms_norm(h, w)


def group_norm(x, w, b):
    grouped = normalized(wide(x).reshape(x.shape[0], 32, -1), -1, 1e-5).reshape(x.shape)
    return (grouped * wide(w)[:, None, None] + wide(b)[:, None, None]).astype(x.dtype)


def batch_norm(x):
    f = wide(x)
    mean = f.mean((0, 2, 3), keepdims=True)
    variance = jnp.square(f - mean).mean((0, 2, 3), keepdims=True)
    return ((f - mean) * jax.lax.rsqrt(variance + 1e-5)).astype(x.dtype), mean, variance


def layer_norm_backward(dy, x, w):
    f, dyf = wide(x), wide(dy)
    centered = f - f.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5)
    xh, g = centered * scale, dyf * wide(w)
    dx = scale * (g - g.mean(-1, keepdims=True) - xh * (g * xh).mean(-1, keepdims=True))
    return dx.astype(x.dtype), (dyf * xh).sum(0), dyf.sum(0)


def row_sum(x):
    return wide(x).sum(1)


def column_sum(x):
    return wide(x).sum(0)


def full_sum(x):
    return wide(x).sum()


def cumsum_f32(x):
    return jnp.cumsum(x, 1)


def cumsum_columns(x):
    return jnp.cumsum(x, 0)


def transpose_add(x, y):
    return x.T + y


def swap_heads_add(a, b):
    return a.transpose(0, 2, 1, 3) + b


def channels_last(x):
    return (x * 2 + 1).transpose(0, 2, 3, 1)


def to_f8(x):
    return x if x.dtype == jnp.float64 else x.astype(jnp.float8_e4m3fn)


def quantize_rows(x):
    f = wide(x)
    scale = jnp.abs(f).max(-1, keepdims=True) / 448.0
    return to_f8(jnp.clip(f / scale, -448, 448)), scale


def cast_transpose(x):
    y = to_f8(x)
    return y, y.T


def embedding(table, index):
    return table[index] * 64.0


def gemv_int8(x, w, scale):
    product = w.astype(wide(x).dtype) * wide(x)
    return (product.sum(-1) * wide(scale)).astype(x.dtype)


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m * 1.1 / (jnp.sqrt(v * 1.2) + 1e-8) + 0.01 * p), m, v


# Stem of the program -> operations.
PROGRAMS = {
    "adam": adam,
    "add_rms_norm": add_rms_norm,
    "batch_norm": batch_norm,
    "cast_transpose": cast_transpose,
    "chain10": chain10,
    "channels_last": channels_last,
    "column_sum": column_sum,
    "column_sum_f32": column_sum,
    "cross_entropy": cross_entropy,
    "cumsum_columns": cumsum_columns,
    "cumsum_f32": cumsum_f32,
    "embedding": embedding,
    "full_sum": full_sum,
    "full_sum_f32": full_sum,
    "gelu": gelu,
    "gelu_dropout": gelu_dropout,
    "gelu_f32": gelu,
    "gemv_int8": gemv_int8,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "masked_softmax": masked_softmax,
    "quantize_rows": quantize_rows,
    "rms_norm": rms_norm,
    "row_sum": row_sum,
    "row_sum_f32": row_sum,
    "sigmoid3": sigmoid3,
    "softmax": softmax,
    "softmax_f32": softmax,
    "swap_heads_add": swap_heads_add,
    "swiglu": swiglu,
    "transpose_add": transpose_add,
}
RANDOM = {"gelu_dropout"}  # drawn otherwise than fuse draws: not compared
