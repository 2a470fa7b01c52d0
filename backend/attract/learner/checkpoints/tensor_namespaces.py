"""Several policies' tensors in one mapping: their names behind the policy's id; a sole one's stay plain."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def with_prefixes(parts: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """The tensors of all policies as one mapping: `<policy id>/<name>`, of a sole one `<name>`."""
    if len(parts) == 1:
        return dict(next(iter(parts.values())))
    return {
        f"{policy_id}/{name}": tensor for policy_id, part in parts.items() for name, tensor in part.items()
    }


def strip_prefix(whole: Mapping[str, T], policy_id: str, policy_ids: Sequence[str]) -> dict[str, T]:
    """The part of one policy: the inverse of `with_prefixes`."""
    if len(policy_ids) == 1:
        return dict(whole)
    prefix = f"{policy_id}/"
    return {name.removeprefix(prefix): tensor for name, tensor in whole.items() if name.startswith(prefix)}
