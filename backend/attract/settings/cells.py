"""Which cell of a group a process is, as `torchrun` and its like tell it."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from attract.settings.base import Settings

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What every launcher of torch's distributed programs sets; only all of them together mean anything."""
AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
"""`True` where the launcher listens at the master's address itself."""


class Cell(Settings):
    """One trainer of several whose learners make each update together."""

    section: ClassVar[str] = "cell"

    rank: Annotated[int, Field(ge=0)]
    """Which of them, from 0; 0 leads."""
    size: Annotated[int, Field(ge=1, le=1024)]
    """How many there are."""
    address: str
    """Where the learner of rank 0 listens, or the launcher."""
    port: Annotated[int, Field(ge=1, le=65535)]
    has_store: bool = False
    """Whether the launcher listens there; else rank 0's learner does."""

    @model_validator(mode="after")
    def _has_a_rank(self) -> Self:
        if self.rank >= self.size:
            raise ValueError(f"rank {self.rank} of {self.size} cells; ranks go from 0")
        return self

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self | None:
        """The cell that a launcher made of this process; None: it trains alone.

        Raises: ConfigurationError: for values that cannot work.
        """
        texts = [environment.get(name, "").strip() for name in VARIABLES]
        if not all(texts) or texts[1] == "1":
            return None
        rank, size, address, port = texts
        has_store = environment.get(AGENT_STORE) == "True"
        return cls.from_mapping(
            {"rank": rank, "size": size, "address": address, "port": port, "has_store": has_store}
        )

    @property
    def leads(self) -> bool:
        """Whether it decides for all of them."""
        return self.rank == 0
