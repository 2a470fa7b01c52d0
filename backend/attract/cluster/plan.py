"""Processes of `attract cluster`: their commands, environments and resources."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from attract.settings.base import PREFIX, variable
from attract.settings.run import ServerSettings

TRAINER_CPUS: Final = 1
"""CPUs of the trainer for its learner and gateway, beside one for each worker, as `attract tune` counts."""
UNTIL_GONE_SECONDS: Final = 600
"""How long a host waits for the trainer, which may be on its way to another node."""
TOKENS: Final = tuple(
    variable(name) for name in ("admin_token", "admin_token_file", "worker_token", "worker_token_file")
)
"""Variables that hold secrets, or name files of the machine where the command is."""
OF_THE_START: Final = ("--force", "--resume", "--resume-auto", "--resume=auto")
"""How a run is started; a restarted process resumes it."""


@dataclass(frozen=True)
class Place:
    """Where the trainer is: its node's address, and the port of its gateway."""

    address: str
    port: int


@dataclass(frozen=True)
class ChildOrder:
    """One `attract` command for a process elsewhere, as plain data."""

    words: tuple[str, ...]
    """Without `attract` itself."""
    environment: Mapping[str, str]
    """Variables on top of the node's own; of our variables the node keeps only those about its browser."""
    stdin: str = ""
    """Its input: the join link, which a process list must not show."""


@dataclass(frozen=True)
class ClusterPlan:
    """The trainer and its hosts, and the arguments of each."""

    game: str
    """A bundled name, or an absolute path that is the same on all nodes."""
    words: tuple[str, ...]
    """Flags for `attract train`, as they were given."""
    run_id: str
    runs_dir: str
    """Absolute."""
    folder: str
    """Working directory of the command, and of its processes on nodes that have such a folder."""
    environment: Mapping[str, str]
    """Environment of the command: our variables are passed on."""
    hosts: int
    workers: int
    """Workers of each host; of the trainer where there are no hosts."""
    has_browsers: bool
    """The trainer has browsers of its own: never beside hosts."""
    gpus: int
    """GPUs of the trainer."""
    token: str
    """Token by which hosts join."""
    admin_token: str | None = None
    port: int | None = None
    """Port of the trainer, if one was asked for: it is never replaced."""
    lan: bool = False
    """Hosts may be on other machines than the trainer."""

    @property
    def first_port(self) -> int:
        """Port of the trainer, where it is free or was asked for."""
        return self.port or int(ServerSettings.model_fields["port"].get_default())

    def bundles(self) -> list[dict[str, float]]:
        """Resources of the trainer, all on one node: for its learner, and for each worker of its browser."""
        trainer: dict[str, float] = {"CPU": TRAINER_CPUS}
        if self.gpus:
            trainer["GPU"] = self.gpus
        own = self.workers if self.has_browsers else 0
        return [trainer, *({"CPU": 1.0} for _ in range(own))]

    def demand(self) -> int:
        return int(sum(bundle["CPU"] for bundle in self.bundles())) + self.hosts * self.workers

    def trainer(self, place: Place, *, again: bool) -> ChildOrder:
        """The unchanged `attract train`.

        Args:
            place: where it is.
            again: it was started before, and continues its run if that has a policy.
        """
        words = without(self.words, ("--run-id", "--runs-dir", "--port"), 1)
        words = without(words, ("--workers", "--collection.num-workers"), 1)
        if again:
            words = [*without(without(words, OF_THE_START, 0), ("--initialize-from",), 1), "--resume-auto"]
        workers = self.workers * (self.hosts or 1)
        words += ["--run-id", self.run_id, "--runs-dir", self.runs_dir, "--port", str(place.port)]
        words += ["--workers", str(workers)]
        wanted = ("--no-headless", *(("--lan",) if self.lan else ())) if self.hosts else ()
        words += [word for word in wanted if word not in words]
        return ChildOrder(("train", self.game, *words), self._variables())

    def host(self, place: Place) -> ChildOrder:
        """The unchanged `attract join` of a host, for the trainer at `place`; its link comes by stdin."""
        words = ("join", "-", "--workers", str(self.workers), "--until-gone", str(UNTIL_GONE_SECONDS))
        return ChildOrder(words, {}, f"{self.link(place)}\n")

    def link(self, place: Place) -> str:
        """The join link of the trainer at `place`, token included."""
        address = f"[{place.address}]" if ":" in place.address else place.address
        return f"http://{address}:{place.port}/join.html#token={self.token}"

    def _variables(self) -> dict[str, str]:
        """Our variables, with the tokens as texts: they travel in Ray's messages, in no command line."""
        ours = {
            name: text
            for name, text in self.environment.items()
            if name.startswith(PREFIX) and name not in TOKENS and not is_of_the_node(name)
        }
        ours[variable("worker_token")] = self.token
        # All its machines belong to the owner of the cluster.
        ours.setdefault(variable("worker_tier"), "local")
        if self.admin_token is not None:
            ours[variable("admin_token")] = self.admin_token
        for name in (variable("port"), variable("runs_dir")):
            ours.pop(name, None)
        return ours


def is_of_the_node(name: str) -> bool:
    """Whether one of our variables describes the machine, such as the path of its browser."""
    return name.startswith(f"{PREFIX}CHROMIUM")


def child_environment(node: Mapping[str, str], order: ChildOrder) -> dict[str, str]:
    """The whole environment of a process.

    Args:
        node: of the actor that starts it. What Ray set for the actor's own sake is left out, and so are
            settings of ours that happen to be set where Ray was started.
        order: of the process.
    """
    kept = {
        name: text
        for name, text in node.items()
        if not name.startswith("RAY_") and (is_of_the_node(name) or not name.startswith(PREFIX))
    }
    return {**kept, **order.environment}


def without(words: Iterable[str], flags: Sequence[str], num_values: int) -> list[str]:
    """Words of a command line without these flags and the values that follow each, also as `--flag=value`."""
    kept: list[str] = []
    skipped = 0
    for word in words:
        if skipped:
            skipped -= 1
        elif word in flags:
            skipped = num_values
        elif not (num_values and word.partition("=")[0] in flags and "=" in word):
            kept.append(word)
    return kept
