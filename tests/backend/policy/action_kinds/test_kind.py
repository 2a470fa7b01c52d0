import pytest
from pydantic import TypeAdapter

from attract.policy.action_kinds.table import KINDS, resolve_distribution
from attract.policy.graph_builder import GraphBuilder
from attract.schema.spaces import ActionSpace

SPACES = {
    "discrete": {"kind": "discrete", "n": 3},
    "multi_discrete": {"kind": "multi_discrete", "nvec": [2, 5]},
    "multi_binary": {"kind": "multi_binary", "n": 4},
    "box": {"kind": "box", "shape": [2, 3], "low": -1, "high": [1, 2, 3, 4, 5, 6]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_nodes_of_a_kind_lead_from_its_outputs_to_an_action_of_the_shape_of_its_space(kind):
    graph = GraphBuilder()
    given = {*resolve_distribution(SPACES[kind]).output_names} - {"logits"} | {"masked"}
    shape = KINDS[kind].write_action(graph, SPACES[kind], "masked")
    assert shape == TypeAdapter(ActionSpace).validate_python(SPACES[kind]).action_shape
    known = given | {initializer.name for initializer in graph.initializers}
    for node in graph.nodes:
        assert set(node.input) <= known
        known |= set(node.output)
    assert list(graph.nodes[-1].output) == ["action"]
