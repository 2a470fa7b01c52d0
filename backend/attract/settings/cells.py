"""Rank of this process in a distributed run, from the variables of `torchrun` and similar launchers."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from attract.settings.base import Settings

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Set by every launcher of torch's distributed programs; ignored unless all are set."""
AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
"""`True` where the launcher listens at the master's address itself."""


class Cell(Settings):
    """One trainer of several whose learners make each update together."""

    section: ClassVar[str] = "cell"

    rank: Annotated[int, Field(ge=0)]
    """Rank, from 0; rank 0 coordinates."""
    size: Annotated[int, Field(ge=1, le=1024)]
    """Number of cells."""
    address: str
    """Address on which the learner of rank 0, or the launcher, listens."""
    port: Annotated[int, Field(ge=1, le=65535)]
    has_store: bool = False
    """Whether the launcher listens there; otherwise rank 0's learner does."""

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
        """Whether this is rank 0, which coordinates the others."""
        return self.rank == 0
