"""How recorded tensors lie in memory."""


def row_major(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return strides


def is_contiguous(shape, strides):
    """Row-major, whatever the strides of axes of extent 1."""
    return all(n == 1 or s == r for n, s, r in zip(shape, strides, row_major(shape)))


def axes_in_memory(shape, strides):
    """The axes as they lie, outermost first; in their own order where the tensor is not dense."""
    own = list(range(len(shape)))
    if is_contiguous(shape, strides):
        return own
    axes = sorted(own, key=lambda a: -strides[a])
    dense = is_contiguous([shape[a] for a in axes], [strides[a] for a in axes])
    return axes if dense else own
