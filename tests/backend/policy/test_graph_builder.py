"""Graphs written node by node, run by onnxruntime on numbers worked out by hand."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from attract.policy.graph import OPSET
from attract.policy.graph_builder import GraphBuilder

IR_VERSION = 7


def run(graph: GraphBuilder, output: str, **inputs: Any) -> Any:
    floats = TensorProto.FLOAT
    made = helper.make_graph(
        graph.nodes,
        "test",
        [helper.make_tensor_value_info(name, floats, tensor.shape) for name, tensor in inputs.items()],
        [helper.make_tensor_value_info(output, floats, [None, None])],
        graph.initializers,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (answer,) = session.run([output], inputs)
    return answer


def test_every_output_has_a_name_of_its_own_or_the_one_it_is_given():
    graph = GraphBuilder()
    first = graph.node("Relu", ["x"])
    second = graph.node("Relu", [first])
    assert first != second
    assert graph.node("Relu", [second], "y") == "y"
    assert len({name for node in graph.nodes for name in node.output}) == 3
    assert [node.name for node in graph.nodes] == [f"node_{first}", f"node_{second}", "node_y"]
    assert run(graph, "y", x=np.array([[-1.0, 2.0]], np.float32)).tolist() == [[0.0, 2.0]]


def test_the_first_constant_of_a_name_stays():
    graph = GraphBuilder()
    assert graph.constant("half", np.float32(0.5)) == "half"
    assert graph.constant("half", np.float32(9.0)) == "half"
    (kept,) = graph.initializers
    assert numpy_helper.to_array(kept) == np.float32(0.5)
    graph.node("Mul", ["x", "half"], "y")
    assert run(graph, "y", x=np.array([[3.0]], np.float32)).tolist() == [[1.5]]


def test_parts_side_by_side_are_joined_and_a_sole_one_is_left_alone():
    graph = GraphBuilder()
    assert graph.join(["x"]) == "x"
    assert graph.nodes == []
    graph.join(["z", "x"], "y")
    joined = run(graph, "y", x=np.array([[1.0, 2.0]], np.float32), z=np.array([[3.0]], np.float32))
    assert joined.tolist() == [[3.0, 1.0, 2.0]]


def test_parts_have_their_widths_and_names_of_their_own():
    graph = GraphBuilder()
    narrow, wide = graph.split("x", [1, 2])
    assert narrow != wide
    graph.join([wide, narrow], "y")
    turned = run(graph, "y", x=np.array([[1.0, 2.0, 3.0]], np.float32))
    assert turned.tolist() == [[2.0, 3.0, 1.0]]
