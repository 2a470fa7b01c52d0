"""Settings of collection: the fleet, batch sizes, and how collection and learning take turns."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from attract.settings.base import Positive, Settings, split_names

PolicyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$", examples=["scout"])]
"""Names files and metrics."""


class CollectionSettings(Settings):
    """How a run collects; the collection core holds them as they are."""

    section: ClassVar[str] = "collection"

    schedule: Literal["sync", "overlap", "async"] = "overlap"
    """`overlap`: plays the next batch while the learner works on the last. `sync`: in turn, slower, but
    repeats exactly. `async`: also plays while a batch waits, up to `max_policy_lag` versions ahead, and
    corrects for the age of what it learns from."""
    num_workers: Annotated[int, Field(ge=1, le=1024, title="Workers")] = 2
    """Threads that play the game: training starts when so many have joined, and a headless run starts them.
    About one per processor core is good."""
    max_workers: Annotated[Annotated[int, Field(ge=1, le=4096)] | None, Field(title="Room for workers")] = (
        None
    )
    """As more workers join, up to so many, each update learns from all of them, unless `ppo.batch_segments`
    is given. None: four times `num_workers`, fewer where that takes more than 256 MiB."""
    instances_per_worker: Annotated[
        Annotated[int, Field(ge=1, le=8192)] | None, Field(title="Games per worker")
    ] = None
    """Running copies of the game in each worker, stepped as one batch. None: up to 64, fewer where the run
    would end before long episodes of so many games do, or before 64 updates."""
    seats: Annotated[tuple[PolicyId, ...], BeforeValidator(split_names), Field(title="Policies")] = ()
    """For games of several agents: the policy that plays each, in the agents' order, separated by commas. The
    same name is the same policy, and each learns from its own agents alone. Empty: `main` plays them all."""
    desync_episodes: bool = True
    """Spread the phases of the instances by cutting the first episode of each once."""
    desync_steps: Positive | None = None
    """Range of that cut; None: the game's time limit in steps."""
    max_policy_lag: Annotated[int, Field(ge=0, le=64)] | None = None
    """Versions that experience may be older than the policy it trains; None: 1 in `overlap`, which allows no
    more, and 4 in `async`, which needs at least 1. `sync` has no lag."""
    prefetch: Annotated[int, Field(ge=0, le=16)] = 1
    """Leases a worker holds ahead of the one it plays, so that it need not wait for the next."""
    warmup_steps: Annotated[int, Field(ge=0)] = 2048
    """Uncounted random steps that set the first observation statistics, no more than the run has itself; 0 is
    none. They end after 10 s, except in `sync`."""
    join_seconds: Annotated[float, Field(gt=0)] = 60.0
    """How long `overlap` waits for the expected workers before it goes on with those it has."""
    inference: Literal["worker", "server"] = "worker"
    """Where the policy runs while training games are played: beside the games, or in a process of the
    server's, for policies too heavy for the devices."""
    async_factor: Annotated[int, Field(ge=1, le=64)] = 2
    """`inference: server`: groups of games that take turns; while one is with the policy the others
    step."""
    trace: bool = False
    """`inference: server`: write what stepped and decided when to `logs/timeline.json` of the run."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.max_workers is not None and self.max_workers < self.num_workers:
            raise ValueError(
                f"max_workers {self.max_workers}: {self.num_workers} are expected; so many or more works"
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
