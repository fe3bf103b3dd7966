"""The programs of bench/suite in PyTorch: one operation after another, and by one function where PyTorch
has it. Given f64 they compute in f64, which is what results are compared with."""
import torch
import torch.nn.functional as F


def wide(x):
    """As programs compute: 16-bit floats and integers in f32."""
    return x if x.dtype == torch.float64 else x.float()


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_builtin(x):
    return F.gelu(x, approximate="tanh")


def gelu_dropout(x, residual, seed):
    return residual + F.dropout(gelu_builtin(x), 0.1)


def swiglu(gate, up):
    return gate * torch.sigmoid(gate) * up


def sigmoid3(x):
    return torch.sigmoid(torch.sigmoid(torch.sigmoid(x)))


def chain10(x):
    root = torch.sqrt(torch.abs(1 + 0.5 * x))
    product = torch.clamp_min(torch.tanh(root - x) * root, -1)
    return -(product * product)


def softmax_wide(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def softmax(x):
    return softmax_wide(wide(x)).to(x.dtype)


def softmax_builtin(x):
    return F.softmax(x, -1)


def masked_softmax(x, mask):
    return softmax_wide((wide(x) * 0.125).masked_fill(mask, float("-inf"))).to(x.dtype)


def cross_entropy(logits, target):
    x = wide(logits)
    top = x.amax(-1, keepdim=True)
    total = torch.exp(x - top).sum(-1, keepdim=True).log() + top
    return (total - x.gather(-1, target[:, None])).squeeze(-1)


def cross_entropy_builtin(logits, target):
    return F.cross_entropy(logits, target, reduction="none")


def normalized(x, axes, eps):
    centered = x - x.mean(axes, keepdim=True)
    return centered * torch.rsqrt(centered.square().mean(axes, keepdim=True) + eps)


def layer_norm(x, w, b):
    return (normalized(wide(x), -1, 1e-5) * wide(w) + wide(b)).to(x.dtype)


def layer_norm_builtin(x, w, b):
    return F.layer_norm(x, w.shape, w, b, 1e-5)


def rms_norm(x, w):
    f = wide(x)
    return (f * torch.rsqrt(f.square().mean(-1, keepdim=True) + 1e-6) * wide(w)).to(x.dtype)


def rms_norm_builtin(x, w):
    return F.rms_norm(x, w.shape, w, 1e-6)


def add_rms_norm(x, residual, w):
    h = x + residual
    return h, rms_norm(h, w)


def group_norm(x, w, b):
    grouped = normalized(wide(x).reshape(x.shape[0], 32, -1), -1, 1e-5).reshape(x.shape)
    return (grouped * wide(w)[:, None, None] + wide(b)[:, None, None]).to(x.dtype)


def group_norm_builtin(x, w, b):
    return F.group_norm(x, 32, w, b, 1e-5)


def batch_norm(x):
    f = wide(x)
    mean = f.mean((0, 2, 3), keepdim=True)
    variance = (f - mean).square().mean((0, 2, 3), keepdim=True)
    return ((f - mean) * torch.rsqrt(variance + 1e-5)).to(x.dtype), mean, variance


def batch_norm_builtin(x):
    return F.batch_norm(x, None, None, training=True, eps=1e-5)


def layer_norm_backward(dy, x, w):
    f, dyf = wide(x), wide(dy)
    centered = f - f.mean(-1, keepdim=True)
    scale = torch.rsqrt(centered.square().mean(-1, keepdim=True) + 1e-5)
    xh, g = centered * scale, dyf * wide(w)
    dx = scale * (g - g.mean(-1, keepdim=True) - xh * (g * xh).mean(-1, keepdim=True))
    return dx.to(x.dtype), (dyf * xh).sum(0), dyf.sum(0)


def row_sum(x):
    return wide(x).sum(1)


def row_sum_builtin(x):
    return x.sum(1, dtype=torch.float32)


def column_sum(x):
    return wide(x).sum(0)


def column_sum_builtin(x):
    return x.sum(0, dtype=torch.float32)


def full_sum(x):
    return wide(x).sum()


def full_sum_builtin(x):
    return x.sum(dtype=torch.float32)


def cumsum_f32(x):
    return x.cumsum(1)


def cumsum_columns(x):
    return x.cumsum(0)


def transpose_add(x, y):
    return x.t() + y


def swap_heads_add(a, b):
    return a.permute(0, 2, 1, 3).contiguous() + b


def channels_last(x):
    return (x * 2 + 1).permute(0, 2, 3, 1).contiguous()


def to_f8(x):
    return x if x.dtype == torch.float64 else x.to(torch.float8_e4m3fn)


def quantize_rows(x):
    f = wide(x)
    scale = f.abs().amax(-1, keepdim=True) / 448.0
    return to_f8((f / scale).clamp(-448, 448)), scale


def cast_transpose(x):
    y = to_f8(x)
    return y, y.t().contiguous()


def embedding(table, index):
    return table[index] * 64.0


def gemv_int8(x, w, scale):
    product = w.to(wide(x).dtype) * wide(x)
    return (product.sum(-1) * wide(scale)).to(x.dtype)


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m * 1.1 / ((v * 1.2).sqrt() + 1e-8) + 0.01 * p), m, v


# --- Rows that are only differentiated ---------------------------------------------------------------


def dropout(x, seed):
    return F.dropout(x, 0.1)


def add_layer_norm(x, residual, w, b):
    return layer_norm(x + residual, w, b)


@torch.library.custom_op("fuse::product", mutates_args=())
def product_op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b if RUN_PRODUCTS else a.new_empty(a.shape[0], b.shape[1])


@product_op.register_fake
def product_type(a, b):
    return a.new_empty(a.shape[0], b.shape[1])


def product_backward(ctx, d):
    a, b = ctx.saved_tensors
    return product_op(d, b.t()), product_op(a.t(), d)


product_op.register_autograd(product_backward, setup_context=lambda ctx, inputs, output:
                             ctx.save_for_backward(*inputs))


def mlp(x, w, w1, w2):
    return x + product_op(gelu_builtin(product_op(rms_norm(x, w), w1)), w2)


# Products are not the compiler's work: timed without, they do nothing, as extern operations with fuse.
RUN_PRODUCTS = True
# Stem of the program -> operations, and the one function if there is one.
PROGRAMS = {
    "adam": (adam, None),
    "add_rms_norm": (add_rms_norm, None),
    "batch_norm": (batch_norm, batch_norm_builtin),
    "cast_transpose": (cast_transpose, None),
    "chain10": (chain10, None),
    "channels_last": (channels_last, None),
    "column_sum": (column_sum, column_sum_builtin),
    "column_sum_f32": (column_sum, column_sum_builtin),
    "cross_entropy": (cross_entropy, cross_entropy_builtin),
    "cumsum_columns": (cumsum_columns, cumsum_columns),
    "cumsum_f32": (cumsum_f32, cumsum_f32),
    "embedding": (embedding, None),
    "full_sum": (full_sum, full_sum_builtin),
    "full_sum_f32": (full_sum, full_sum_builtin),
    "gelu": (gelu, gelu_builtin),
    "gelu_dropout": (gelu_dropout, None),
    "gelu_f32": (gelu, gelu_builtin),
    "gemv_int8": (gemv_int8, None),
    "group_norm": (group_norm, group_norm_builtin),
    "layer_norm": (layer_norm, layer_norm_builtin),
    "layer_norm_backward": (layer_norm_backward, None),
    "masked_softmax": (masked_softmax, None),
    "quantize_rows": (quantize_rows, None),
    "rms_norm": (rms_norm, rms_norm_builtin),
    "row_sum": (row_sum, row_sum_builtin),
    "row_sum_f32": (row_sum, row_sum_builtin),
    "sigmoid3": (sigmoid3, None),
    "softmax": (softmax, softmax_builtin),
    "softmax_f32": (softmax, softmax_builtin),
    "swap_heads_add": (swap_heads_add, None),
    "swiglu": (swiglu, None),
    "transpose_add": (transpose_add, None),
}
GRADIENTS = {"add_layer_norm": add_layer_norm, "dropout": dropout, "mlp": mlp, "sigmoid3_f32": sigmoid3}
RANDOM = {"dropout", "gelu_dropout"}  # drawn otherwise than fuse draws: not compared
