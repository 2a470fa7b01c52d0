"""Description of one kind of action: a new kind adds one such row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attract.algorithm.distributions import ActionDistribution

# Central inference draws by the table, in a process that does without onnx, which the builder needs.
if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder

Space = Mapping[str, Any]
"""A game's action space, as JSON."""


@dataclass(frozen=True, slots=True)
class ActionKind:
    """One kind of action, for torch and as models and `policy.json` have it."""

    distribution: Callable[[Space], ActionDistribution]
    """The distribution for a space. Raises: ConfigurationError: for one that no policy can act in."""
    action: Mapping[str, Any]
    """The entry of the output `action` in `policy.json`: `dtype`, the name of a NumPy type, and `meaning`."""
    meanings: Mapping[str, str]
    """Its entry for each of the distribution's outputs, by `output_names`."""
    write_action: Callable[["GraphBuilder", Space, str], tuple[int, ...]]
    """Adds the nodes of the output `action`, of `action["dtype"]`: the likeliest, as the game takes it.

    They begin at the distribution's outputs, by name; at its logits by the third argument, where the mask is
    in. Returns the shape of one action, without the batch.
    """
