"""Settings of the behaviour cloning loss, added to the training loss."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from attract.settings.base import Fraction, Positive, Settings


def _absolute(place: str) -> str:
    return str(Path(place).absolute())


_Place = Annotated[str, AfterValidator(_absolute)]
"""A path, made absolute: a run that is resumed from another folder still finds it."""


class CloningSettings(Settings):
    """Behaviour cloning loss, which any algorithm can add; active when `demonstrations` are given."""

    section: ClassVar[str] = "cloning"

    demonstrations: Annotated[_Place | None, Field(title="Demonstrations")] = None
    """A file or folder of demonstrations (recorded episodes). Each update also learns from them. None:
    no demonstrations."""
    coef: Annotated[float, Field(ge=0, title="Cloning coefficient")] = 0.1
    """Initial weight of the cloning loss: the mean negative log-likelihood of the demonstrations' actions."""
    share: Annotated[Fraction, Field(title="Cloning share of the run")] = 0.5
    """Share of `schedule_steps` over which `coef` falls linearly to 0."""
    minibatch_steps: Annotated[Positive, Field(title="Demonstration steps per minibatch")] = 256
    """Demonstration steps added to each minibatch, drawn at random."""
