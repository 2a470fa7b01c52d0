"""Messages about seats that programs outside of Attract play (decision 71)."""

from typing import Annotated, Literal

from pydantic import FailFast, Field

from attract.schema.base import MAX_AGENTS, Count, FiniteModel, Name
from attract.schema.step_numbers import Tensor


class Ask(FiniteModel):
    """What the agents see that a program outside plays, one question each (`answer` follows).

    Of a worker or a host of the trainer's own machine, about a lease or a playtest that has such a seat.
    """

    type: Literal["ask"] = "ask"
    run_id: Name | None
    """None: of a host."""
    order_id: Count
    """The worker's lease, or the host's playtest."""
    policy_id: Name
    """`outside:` and the program's name."""
    agent: Annotated[
        list[Annotated[int, Field(ge=0, lt=MAX_AGENTS)]], Field(min_length=1, max_length=65_536), FailFast()
    ]
    """[k]: the seat of each."""
    observation: dict[str, Tensor]
    """[k, ...] each."""
    action_mask: Tensor | None = None
    """[k, n] uint8."""


class Answer(FiniteModel):
    """What a program outside does, or the default where it did nothing that counts."""

    type: Literal["answer"] = "answer"
    run_id: Name | None
    order_id: Count
    """As asked: an order has one open question at a time."""
    action: Tensor
    """[k] int32, or [k, components] int32 / float32 as in a block."""
