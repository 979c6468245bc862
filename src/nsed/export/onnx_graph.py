"""ONNX graphs under construction: operators are called as functions, and layers are functions of operators.

Graphs are written operator by operator, not traced: lengths and batches stay free (dynamic axes), and recursions are
`Scan`, whose number of steps the data decides.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from nsed.errors import MissingExtraError
from nsed.types import NEG

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise MissingExtraError("onnx", extra="onnx") from error

OPSET = 18
IR_VERSION = 9
"""Versions of the operators and of the file, which runtimes from 2023 on know."""
Value = str | np.ndarray | Tensor | int | float
"""Operand: the name of a tensor in the graph, or a constant."""
Shape = Sequence[int | str]
"""Sizes of axes; a name stands for a size that is free."""
_TYPES = {"int": TensorProto.INT64, "float": TensorProto.FLOAT}


class Graph:
    """ONNX graph under construction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Any] = []
        self.constants: dict[int, tuple[str, Tensor]] = {}
        self.initializers: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, shape: Shape, kind: str = "float") -> str:
        """Input of the graph, of type float or int."""
        self.inputs.append(helper.make_tensor_value_info(name, _TYPES[kind], list(shape)))
        return name

    def output(self, name: str, value: str, shape: Shape) -> None:
        """Output of the graph: a tensor under another name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def op(self, kind: str, *operands: Value, **attributes: Any) -> str:
        """Name of an operator's result."""
        return self.ops(kind, *operands, outputs=1, **attributes)[0]

    def ops(self, kind: str, *operands: Value, outputs: int, **attributes: Any) -> list[str]:
        """Names of an operator's results, of one that has several."""
        names = [f"{self.name}_{kind.lower()}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, [self.named(one) for one in operands], names, **attributes))
        return names

    def named(self, value: Value) -> str:
        """Name of a tensor: its own, or that of a constant; weights become constants once."""
        if isinstance(value, str):
            return value
        if isinstance(value, nn.Parameter):
            if id(value) not in self.constants:
                self.constants[id(value)] = self._constant(value.detach().float().cpu().numpy()), value
            return self.constants[id(value)][0]
        if isinstance(value, Tensor):
            return self._constant(value.detach().float().cpu().numpy())
        return self._constant(np.asarray(value, dtype=_dtype(value)))

    def integers(self, *values: int) -> str:
        """Constant list of whole numbers, as axes and sizes are given."""
        return self._constant(np.array(values, dtype=np.int64))

    def _constant(self, array: np.ndarray) -> str:
        name = f"{self.name}_constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def proto(self) -> Any:
        """Finished graph."""
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)

    def write(self, path: Path, about: str) -> None:
        """Check the graph and write it to a file."""
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(self.proto(), opset_imports=opsets, ir_version=IR_VERSION, producer_name="nsed")
        model.doc_string = about
        onnx.checker.check_model(model, full_check=True)
        path.write_bytes(model.SerializeToString())

    # Operators with the arguments that one thinks of.

    def size(self, value: str, axis: int) -> str:
        """Size of an axis, a scalar."""
        return self.op("Squeeze", self.op("Shape", value, start=axis, end=axis + 1), self.integers(0))

    def range(self, size: str) -> str:
        """Whole numbers from 0 to below a size."""
        return self.op("Range", 0, size, 1)

    def unsqueezed(self, value: Value, *axes: int) -> str:
        """With more axes, of size one."""
        return self.op("Unsqueeze", value, self.integers(*axes))

    def sliced(self, value: str, axis: int, start: int, end: int) -> str:
        """Part of an axis."""
        return self.op("Slice", value, self.integers(start), self.integers(end), self.integers(axis))

    def shifted(self, value: str, *axes: int, fill: float = NEG) -> str:
        """Values moved one place on along some of their (at most three) axes; what comes in is `fill`."""
        for axis in axes:
            first = self.op("Add", self.op("Mul", self.sliced(value, axis, 0, 1), 0.0), fill)
            value = self.op("Concat", first, self.sliced(value, axis, 0, -1), axis=axis)
        return value

    def log_sum(self, value: str, axis: int, *, keep: bool = False) -> str:
        """Log of the sum of exponentials along an axis."""
        top = self.op("ReduceMax", value, self.integers(axis), keepdims=1)
        total = self.op("ReduceSum", self.op("Exp", self.op("Sub", value, top)), self.integers(axis), keepdims=1)
        found = self.op("Add", self.op("Log", total), top)
        return found if keep else self.op("Squeeze", found, self.integers(axis))

    def log_add(self, *values: str) -> str:
        """Log of the sum of the exponentials of tensors, place by place."""
        return self.log_sum(self.op("Concat", *(self.unsqueezed(one, -1) for one in values), axis=-1), -1)

    def linear(self, layer: nn.Linear, value: str) -> str:
        """Linear layer."""
        product = self.op("MatMul", value, layer.weight.T.contiguous())
        return product if layer.bias is None else self.op("Add", product, layer.bias)

    def norm(self, layer: nn.Module, value: str) -> str:
        """Layer normalisation; of another module, the value itself."""
        if not isinstance(layer, nn.LayerNorm):
            return value
        return self.op("LayerNormalization", value, layer.weight, layer.bias, axis=-1, epsilon=layer.eps)

    def inside(self, lengths: str, width: str) -> str:
        """Mask: True for a string's own places."""
        return self.op("Less", self.unsqueezed(self.range(width), 0), self.unsqueezed(lengths, 1))

    def attention(self, query: str, key: str, value: str, allowed: str | None, heads: int, dim: int) -> str:
        """Multi-head scaled dot-product attention of projected vectors, heads side by side again."""
        split = self.integers(0, 0, heads, dim // heads)
        query, key, value = (
            self.op("Transpose", self.op("Reshape", one, split), perm=[0, 2, 1, 3]) for one in (query, key, value)
        )
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, (dim // heads) ** -0.5)
        scores = scores if allowed is None else self.op("Where", allowed, scores, NEG)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        return self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.integers(0, 0, dim))

    def scan(
        self,
        states: Sequence[tuple[str, Shape]],
        rows: Sequence[tuple[str, Shape]],
        body: Callable[["Graph", list[str], list[str]], tuple[list[str], str]],
    ) -> str:
        """Recursion over the first axis of `rows`: what each step tells, one after the other.

        The body gets a graph, the states and one row of each, and gives the new states and what it tells.
        """
        inner = Graph(f"{self.name}_scan_{len(self.nodes)}")
        before = [inner.input(f"{inner.name}_state_{k}", shape) for k, (_, shape) in enumerate(states)]
        row = [inner.input(f"{inner.name}_row_{k}", shape) for k, (_, shape) in enumerate(rows)]
        after, told = body(inner, before, row)
        for number, (value, (_, shape)) in enumerate(zip([*after, told], [*states, states[0]], strict=True)):
            inner.output(f"{inner.name}_after_{number}", value, shape)
        operands = [name for name, _ in (*states, *rows)]
        return self.ops("Scan", *operands, outputs=len(states) + 1, body=inner.proto(), num_scan_inputs=len(rows))[-1]


def _dtype(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        return np.float32 if value.dtype.kind == "f" else value.dtype
    return np.int64 if isinstance(value, int) else np.float32
