"""The table of the kinds of action: a new one is a module beside this and its row here."""

from collections.abc import Mapping
from typing import Final

from attract.algorithm.distributions import ActionDistribution
from attract.errors import ConfigurationError
from attract.policy.action_kinds import box, discrete, mixed, multi_binary, multi_discrete
from attract.policy.action_kinds.kind import ActionKind, Space

KINDS: Final[Mapping[str, ActionKind]] = {
    "discrete": discrete.KIND,
    "multi_discrete": multi_discrete.KIND,
    "multi_binary": multi_binary.KIND,
    "box": box.KIND,
    "mixed": mixed.KIND,
}
"""By the `kind` of the space in `schema.spaces`."""


def resolve_distribution(action_space: Space) -> ActionDistribution:
    """The distribution for an action space as JSON (`{"kind": "discrete", "n": 2, ...}`).

    Raises: ConfigurationError: for a kind no policy is built for, naming those there are; for a box that is
        not float32 or has no bounds.
    """
    kind = action_space.get("kind")
    found = KINDS.get(str(kind))
    if found is None:
        raise ConfigurationError(
            f"no policy for actions of kind {kind!r}",
            setting="game.action",
            fix=f"kinds that can be trained: {', '.join(repr(name) for name in KINDS)}",
        )
    return found.distribution(action_space)
