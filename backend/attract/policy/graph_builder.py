"""Collects the nodes and initializers of an ONNX graph that is written by hand."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper


class GraphBuilder:
    """Nodes and initializers in the order they were added; every output gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, array: NDArray[Any] | np.generic) -> str:
        """Add an initializer; returns its name. The first of a name stays."""
        if all(initializer.name != name for initializer in self.initializers):
            self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output; returns the output's name."""
        output = output or self._name(op)
        self.add(op, inputs, [output], f"node_{output}", **attributes)
        return output

    def add(self, op: str, inputs: list[str], outputs: list[str], name: str, **attributes: Any) -> list[str]:
        """Add a node with these outputs; returns them."""
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, **attributes))
        return outputs

    def cast(self, name: str, dtype: str, output: str | None = None) -> str:
        """The same numbers as a NumPy type, given by its name."""
        return self.node("Cast", [name], output, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def split(self, name: str, sizes: list[int]) -> list[str]:
        """Parts of these widths along axis 1."""
        stem = self._name("Split")
        parts = [f"{stem}_{index}" for index in range(len(sizes))]
        return self.add("Split", [name], parts, f"node_{stem}", axis=1, split=sizes)

    def join(self, parts: list[str], output: str | None = None) -> str:
        """All parts side by side along axis 1."""
        if len(parts) == 1 and output is None:
            return parts[0]
        return self.node("Concat", parts, output, axis=1)

    def _name(self, op: str) -> str:
        return f"{op.lower()}_{len(self.nodes)}"
