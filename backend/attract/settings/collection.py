"""Settings of collection: the fleet, batch sizes, and how collection and learning take turns."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from attract.settings.base import Positive, Settings, split_names

PolicyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$", examples=["scout"])]
"""Names files and metrics."""
MAIN: Final = "main"
"""The policy of a run that names none."""


def policy_ids(seats: Sequence[str]) -> tuple[str, ...]:
    """The policies of a run with these `collection.seats`, in the order of their first seat."""
    return tuple(dict.fromkeys(seats or (MAIN,)))


class CollectionSettings(Settings):
    """How a run collects experience."""

    section: ClassVar[str] = "collection"

    schedule: Literal["sync", "overlap", "async"] = "overlap"
    """`overlap`: workers play the next batch while the learner trains on the last. `sync`: both take turns,
    which is slower but reproducible. `async`: workers never wait, up to `max_policy_lag` versions ahead, and
    the learner corrects for the lag."""
    num_workers: Annotated[int, Field(ge=1, le=1024, title="Workers")] = 2
    """Threads that play the game. Training starts when all have joined; a headless run starts them
    itself. About one per processor core is good."""
    max_workers: Annotated[Annotated[int, Field(ge=1, le=4096)] | None, Field(title="Max workers")] = None
    """Limit of workers that may join. The batch grows with them, unless `ppo.batch_segments` is given. None:
    four times `num_workers`, fewer if that takes more than 256 MiB."""
    instances_per_worker: Annotated[
        Annotated[int, Field(ge=1, le=8192)] | None, Field(title="Games per worker")
    ] = None
    """Copies of the game in each worker, stepped as one batch. None: up to 64, fewer if the run would end
    before long episodes do or before 64 updates."""
    seats: Annotated[tuple[PolicyId, ...], BeforeValidator(split_names), Field(title="Policies")] = ()
    """Policy of each agent in games of several agents, in the agents' order, separated by commas. Agents with
    the same name share a policy. Each policy learns from its own agents. Empty: `main` plays them all."""
    desync_episodes: bool = True
    """Desynchronise the instances by cutting the first episode of each at a random step."""
    desync_steps: Positive | None = None
    """Largest step of that cut. None: the game's time limit in steps."""
    max_policy_lag: Annotated[int, Field(ge=0, le=64)] | None = None
    """Maximum policy lag of experience, in versions. None: 1 in `overlap`, which allows no more, and 4 in
    `async`, which needs at least 1. `sync` has no lag."""
    prefetch: Annotated[int, Field(ge=0, le=16)] = 1
    """Leases that a worker holds beyond the one it plays, so that it need not wait for the next."""
    warmup_steps: Annotated[int, Field(ge=0)] = 2048
    """Random steps before training that initialise the observation statistics, at most `total_steps`. They
    are not counted and end after 10 s, except in `sync`. 0: none."""
    join_seconds: Annotated[float, Field(gt=0)] = 60.0
    """How long `overlap` waits for the expected workers before it starts with those it has."""
    inference: Literal["worker", "server"] = "worker"
    """Where the policy runs during collection. `worker`: in the browser, beside the games. `server`: in a
    process of the server, for policies too heavy for the devices."""
    async_factor: Annotated[int, Field(ge=1, le=64)] = 2
    """`inference: server`: groups of games that take turns. While the policy runs for one group, the others
    step."""
    trace: bool = False
    """`inference: server`: write the times of steps and inference to the run's `logs/timeline.json`."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.max_workers is not None and self.max_workers < self.num_workers:
            raise ValueError(
                f"max_workers {self.max_workers} is below num_workers; give at least {self.num_workers}"
            )
        return self

    @model_validator(mode="after")
    def _lag_fits(self) -> Self:
        lag = self.max_policy_lag
        if self.schedule == "overlap" and lag is not None and lag > 1:
            raise ValueError(f"max_policy_lag {lag}: `overlap` allows 1; with schedule `async` it works")
        if self.schedule == "async" and lag == 0:
            raise ValueError("max_policy_lag 0: `async` needs at least 1; `sync` has no lag")
        return self

    @property
    def policy_lag(self) -> int:
        """The largest lag this schedule allows, in versions."""
        usual = {"sync": 0, "overlap": 1, "async": 4}[self.schedule]
        return usual if self.max_policy_lag is None or self.schedule == "sync" else self.max_policy_lag
