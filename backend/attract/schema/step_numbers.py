"""The numbers that each step has one of for each agent: how they travel, and as what they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.schema.base import FiniteModel, WireBytes

DType = Literal["float32", "float16", "int32", "uint8", "uint16"]


class Tensor(FiniteModel):
    """Little-endian array in C order; booleans travel as uint8."""

    dtype: DType
    shape: Annotated[list[Annotated[int, Field(ge=0, le=1 << 24)]], Field(max_length=6)]
    data: WireBytes


@dataclass(frozen=True)
class Kept:
    """Element type of a step's number in the segment store; `bool` is uint8 on the wire."""

    dtype: Literal["float32", "bool", "uint16"]


class DecidedNumbers(FiniteModel):
    """A policy's numbers per action. A new one is one line here: it is sent, checked, stored and loaded."""

    log_prob: Annotated[Tensor, Kept("float32")]
    """Log-probability of the action under the behaviour policy."""
    value: Annotated[Tensor, Kept("float32")]
    """V(observation) under the same policy."""


class OutcomeNumbers(FiniteModel):
    """A game's numbers per step. A new one is one line here: it is sent, checked, stored and loaded."""

    reward: Annotated[Tensor, Kept("float32")]
    """Raw, summed over the step's ticks."""
    terminated: Annotated[Tensor, Kept("bool")]
    truncated: Annotated[Tensor, Kept("bool")]
    """Rule E1."""
    valid: Annotated[Tensor, Kept("bool")]
    """0: the agent took no part, or its game failed in this step."""
    executed_ticks: Annotated[Tensor, Kept("uint16")]


def _kept(model: type[FiniteModel]) -> Mapping[str, str]:
    return {
        name: kept.dtype
        for name, field in model.model_fields.items()
        for kept in field.metadata
        if isinstance(kept, Kept)
    }


DECIDED_NUMBERS: Final[Mapping[str, str]] = _kept(DecidedNumbers)
OUTCOME_NUMBERS: Final[Mapping[str, str]] = _kept(OutcomeNumbers)
STEP_NUMBERS: Final[Mapping[str, str]] = {**DECIDED_NUMBERS, **OUTCOME_NUMBERS}
"""Name to dtype in the store, of every number that each step has one of for each agent."""


CONTINUES: Final = 0
"""The stack before it, one picture on: only its newest picture is sent."""
REPEATS: Final = 1
"""Its newest picture, as often as the stack has pictures: an episode's first."""
WHOLE: Final = 2
"""Neither: its older pictures are sent beside the newest."""


class PackedStacks(FiniteModel):
    """How each stack of one observation of a block is rebuilt from its newest picture.

    Shapes are for k slots and n final observations; all uint8. The stack before the one of a step is that of
    the step before; before the bootstrap observation's that of the last step; before a final observation's
    that of its own step. What comes before a segment's first step is not known, so that nothing continues
    there.
    """

    step: Tensor
    """[horizon, k]: `CONTINUES`, `REPEATS` or `WHOLE`."""
    bootstrap: Tensor
    """[k]: the same of the observation after the last step."""
    final: Tensor
    """[n]: the same of the final observations."""
    older: Tensor
    """[m, rows, columns, channels of all pictures but the newest]: of the `WHOLE` ones, in the order of
    `step`, `bootstrap`, `final`."""


class PackedPictures(FiniteModel):
    """Packing of one observation of a block."""

    stacks: PackedStacks | None = None
    """Not None: its tensors in the block have the newest picture of each stack alone."""
    deflated: bool = False
    """Whether the `data` of its tensors, and of `older`, where they are not empty, are raw deflate (RFC 1951)
    of the bytes that dtype and shape ask for."""
