"""How a policy keeps to demonstrations while it learns from its own experience."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from attract.settings.base import Fraction, Positive, Settings


def _absolute(place: str) -> str:
    return str(Path(place).absolute())


_Place = Annotated[str, AfterValidator(_absolute)]
"""A path, absolute: a run that is resumed from elsewhere still finds it."""


class CloningSettings(Settings):
    """Of the cloning loss, around whatever algorithm; in force once `demonstrations` are named."""

    section: ClassVar[str] = "cloning"

    demonstrations: Annotated[_Place | None, Field(title="Demonstrations")] = None
    """A file or a folder of demonstrations, recorded episodes, that each update learns from too. None:
    none."""
    coef: Annotated[float, Field(ge=0, title="Weight of demonstrations")] = 0.1
    """Weight of the demonstrations' mean negative log-likelihood in the loss, at first."""
    share: Annotated[Fraction, Field(title="Share of the run with demonstrations")] = 0.5
    """Share of `schedule_steps` over which that weight falls to nothing."""
    minibatch_steps: Annotated[Positive, Field(title="Demonstrated steps per minibatch")] = 256
    """Steps of demonstrations beside each minibatch, drawn at random."""
