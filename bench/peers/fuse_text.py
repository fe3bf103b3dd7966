"""A program of a .fuse file as a function of PyTorch: the operations of bench/gradient_graphs.py."""
import re

import torch
import torch.nn.functional as F

SIMPLE = {"abs": torch.abs, "add": torch.add, "atan": torch.atan, "cos": torch.cos, "erf": torch.erf,
          "exp": torch.exp, "gelu": lambda x: F.gelu(x, approximate="tanh"), "max": torch.maximum,
          "min": torch.minimum, "mul": torch.mul, "sigmoid": torch.sigmoid, "silu": F.silu,
          "sin": torch.sin, "sqrt": torch.sqrt, "sub": torch.sub, "tanh": torch.tanh}
ROWS = {"mean": lambda x: x.mean(-1, keepdim=True), "max": lambda x: x.amax(-1, keepdim=True),
        "softmax": lambda x: F.softmax(x, -1), "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:])}
STATEMENT = re.compile(r"\s*(%\w+) = (\w+) (%\w+(?:, %\w+)*)(.*)")


def statements_of(body):
    for line in filter(str.strip, body.splitlines()):
        found = STATEMENT.fullmatch(line)
        if not found:
            raise ValueError(f"no statement that PyTorch is told: {line.strip()}")
        result, name, operands, words = found.groups()
        yield result, (ROWS if "ax" in words else SIMPLE)[name], operands.split(", ")


def function_of(text):
    """Takes the inputs in their order and returns the outputs."""
    parameters, body, returned = re.search(r"graph @\w+\((.*?)\) \{\n(.*)  return (.*?)\n", text, re.S).groups()
    inputs = re.findall(r"(%\w+):", parameters)
    statements, outputs = list(statements_of(body)), re.findall(r"%\w+", returned)

    def program(*arguments):
        values = dict(zip(inputs, arguments))
        for result, operation, operands in statements:
            values[result] = operation(*(values[o] for o in operands))
        return tuple(values[o] for o in outputs)
    return program
