"""Compressed forms of pictures in a block."""

from typing import Final

from attract.schema.base import FiniteModel
from attract.schema.step_numbers import Tensor

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
