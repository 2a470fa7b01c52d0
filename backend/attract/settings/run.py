"""Settings as frozen classes, one per concern: built at the composition roots and passed in."""

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from attract.settings.algorithm import AlgorithmSettings, RunContext
from attract.settings.base import LearnerName, LogFormat, LogLevel, Positive, Settings, split_names, variable
from attract.settings.cells import Cell
from attract.settings.cloning import CloningSettings
from attract.settings.collection import CollectionSettings
from attract.settings.curriculum import (
    CallbackSettings,
    CurriculumSettings,
    DistributionSettings,
    FederatedSettings,
)
from attract.settings.errors import dotted, refusal
from attract.settings.ppo import PpoSettings
from attract.settings.rnd import RndSettings


def _sizes(given: Any) -> Any:
    """The numbers in a text with commas or brackets, alone or, as flags give it, as the one of a list."""
    texts = cast("list[Any] | tuple[Any]", given) if isinstance(given, list | tuple) else [given]
    if not any(isinstance(text, str) for text in texts):
        return given
    return tuple(part for text in texts for part in re.split(r"[\s,]+", str(text).strip("[]() ")) if part)


Units = Annotated[int, Field(ge=1, le=16_384)]
"""Of one layer: two of the largest hold 268 million weights, a gigabyte."""


class PolicySettings(Settings):
    """The network; which kind is used follows from the observation space."""

    section: ClassVar[str] = "policy"

    hidden_sizes: Annotated[
        tuple[Units, ...], BeforeValidator(_sizes), Field(max_length=32, title="Hidden layers")
    ] = (64, 64)
    """Units of each hidden layer of the trunk, the first first, separated by commas: `64,64`."""
    activation: Literal["tanh", "relu"] = "tanh"
    """What follows each hidden layer."""
    shared_trunk: bool = False
    """One trunk for actions and value (about twice as fast), or one each, which learns more of hard games."""
    cnn: Annotated[Literal["small", "impala"], Field(title="Image encoder")] = "small"
    """What encodes images, that is boxes of [height, width, channels]."""
    recurrent: Annotated[Literal["none", "lstm", "gru"], Field(title="Memory")] = "none"
    """A recurrent core between the encoders and the trunk."""
    recurrent_size: Annotated[Units, Field(title="Memory size")] = 64
    """Outputs of that core."""
    log_std_init: Annotated[float, Field(ge=-5.0, le=2.0, title="Initial log deviation")] = 0.5
    """Of continuous actions at first, in units of half the action's range: how widely it tries."""

    @property
    def state_size(self) -> int:
        """Numbers of a slot's packed recurrent state: [h, c] of an LSTM, [h] of a GRU; 0: feed-forward."""
        return {"none": 0, "lstm": 2, "gru": 1}[self.recurrent] * self.recurrent_size


EXPECTED_STEPS: Final = 1_000_000
"""What a run without an end is taken to need, where that matters."""


class EvaluationSettings(Settings):
    """How a policy is judged: fixed seeds, each episode played to its end."""

    section: ClassVar[str] = "evaluation"

    episodes: Annotated[Positive, Field(title="Evaluation episodes")] = 100
    """How many episodes one evaluation plays."""
    deterministic: Annotated[bool, Field(title="Most probable actions")] = True
    """Take the most probable action of each step instead of sampling one, as training does."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1, title="Evaluation seed")] = 20_000
    """Decides the episodes of evaluations, apart from those of training: the same seed plays the same
    ones."""


class RunSettings(Settings):
    """Everything that decides a run; written to its `config.yaml`."""

    section: ClassVar[str] = ""

    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    """Decides all chance: first weights, episodes, actions, the order of experience. The same seed gives the
    same games."""
    total_steps: Annotated[Positive | None, Field(title="Stop after steps")] = None
    """Ends the run after this many agent steps. None: no limit, it goes on until it is stopped."""
    until_return: Annotated[float | None, Field(title="Stop at return")] = None
    """Ends the run once the mean return of the last 100 training episodes is this, confirmed by an
    evaluation whose mean lies a standard error above it. None: no goal."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the learner computes. `auto`: a CUDA GPU where torch finds one."""
    learner_threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Torch threads; 0: one, or more where cores are free at the start and a product is faster with them."""
    learner: LearnerName = "auto"
    """How gradients are computed. `auto`: written out where the network is dense layers on a CPU, which takes
    half the time; else by torch. `autograd`: always by torch."""
    preset: (
        Literal[
            "default",
            "classic-control",
            "reflex",
            "puzzle",
            "long-run",
            "explore",
            "pixels",
            "memory",
            "segments-64",
        ]
        | None
    ) = None
    """A named set of hyperparameters, beneath those that are given here; None: what the game recommends."""
    policy: Annotated[PolicySettings, Field(title="Network")] = PolicySettings()
    algorithm: Literal["ppo"] = "ppo"
    """What the policy is trained by; its own settings are in the section of its name."""
    ppo: Annotated[PpoSettings, Field(title="Learning (PPO)")] = PpoSettings()
    exploration: Literal["none", "rnd"] = "none"
    """`rnd`: pay for observations unlike those seen before (random network distillation), beside the game's
    rewards: for goals that random play never finds."""
    rnd: Annotated[RndSettings, Field(title="Exploration (RND)")] = RndSettings()
    cloning: Annotated[CloningSettings, Field(title="Demonstrations")] = CloningSettings()
    collection: Annotated[CollectionSettings, Field(title="Workers and games")] = CollectionSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    parameters: dict[str, DistributionSettings] = {}
    """How the game's parameters are drawn at each start, in training and in evaluation, as JSON:
    {"size": 10, "wind": {"uniform": [0, 3]}}."""
    curriculum: Annotated[CurriculumSettings, Field(title="Lessons")] = CurriculumSettings()
    callbacks: Annotated[CallbackSettings, Field(title="Along the way")] = CallbackSettings()
    federated: Annotated[FederatedSettings | None, Field(title="Averaging between trainers")] = None
    """Average the policy with other trainers; None: train alone."""

    @property
    def algorithm_settings(self) -> AlgorithmSettings:
        """The settings of the algorithm that is chosen."""
        return cast("AlgorithmSettings", getattr(self, self.algorithm))

    @property
    def context(self) -> RunContext:
        """What the algorithm's settings may depend on."""
        return RunContext(self.collection.schedule, self.policy.state_size > 0, self.schedule_steps)

    @property
    def schedule_steps(self) -> int:
        """Agent steps over which rates fall (rule P10); a run without an end takes `EXPECTED_STEPS`."""
        return self.algorithm_settings.schedule_steps or self.total_steps or EXPECTED_STEPS

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The algorithm's own settings as plain data, with what other settings decide of them."""
        own = self.model_dump(mode="json", include={self.algorithm})[self.algorithm]
        return {**own, **self.algorithm_settings.resolve(self.context)}

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, data: Any) -> Any:
        """Files of runs from before `exploration` was around any algorithm have it under `ppo`."""
        if not isinstance(data, Mapping):
            return data
        given = dict(cast("Mapping[str, Any]", data))
        if not isinstance(given.get("ppo"), Mapping):
            return given
        ppo = given["ppo"] = dict(cast("Mapping[str, Any]", given["ppo"]))
        if (exploration := ppo.pop("exploration", None)) is not None:
            given.setdefault("exploration", exploration)
        if (coef := ppo.pop("exploration_coef", None)) is not None:
            given["rnd"] = {"coef": coef, **cast("Mapping[str, Any]", given.get("rnd") or {})}
        return given

    @model_validator(mode="after")
    def _fit_policy(self) -> Self:
        self.algorithm_settings.check_policy(is_recurrent=self.policy.state_size > 0)
        return self


ALGORITHM_SETTINGS: Final[Mapping[str, type[AlgorithmSettings]]] = {"ppo": PpoSettings}
"""By the algorithm's name: a field of `RunSettings`, and a key of the learner's registry."""


INTERNAL: Final = "internal"
"""Marks a setting of the server that only code gives: neither flag nor variable does."""


def _names(given: Any) -> Any:
    found = split_names(given)
    return tuple(name for name in found if name != "") if isinstance(found, tuple) else found


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""A list of names, or a text with commas."""


class ServerSettings(Settings):
    """The gateway: where it listens, what it serves, and its limits (all times in seconds)."""

    section: ClassVar[str] = "server"

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port to listen on. Where none is given, `train` takes a free one when this is busy; one that is given
    is never replaced."""
    runs_dir: Path = Path("runs")
    """Where runs are kept."""
    project_dir: Path = Path()
    """Folder whose game modules may be trained; nothing outside it is ever bundled. Where none is given,
    commands that take a game's path find its project: the repository or package that holds it."""
    lan: bool = False
    """Listen on the local network too, for devices with a join link."""
    public_url: str | None = None
    """Where browsers see the server when a proxy stands before it, for links and the allow-lists."""
    allowed_hosts: Names = ()
    """More names of the server than the loopback ones (and `public_url`'s), with commas."""
    allowed_origins: Names = ()
    """More exact origins that its pages may come from, with commas."""
    web_dir: Annotated[Path | None, INTERNAL] = None
    """Built web side; None: the one inside the package."""
    max_frame_bytes: Annotated[Positive, INTERNAL] = 4 * 1024 * 1024 + 64 * 1024
    hello_seconds: Annotated[float, Field(gt=0), INTERNAL] = 3.0
    request_seconds: Annotated[float, Field(gt=0), INTERNAL] = 10.0
    send_seconds: Annotated[float, Field(gt=0), INTERNAL] = 10.0
    sockets_per_address: Positive = 64
    """Open sockets of one address that have not shown a token yet."""
    sockets_per_token: Positive = 1024
    """Open sockets that came in by one token, from whatever addresses."""
    messages_per_second: Annotated[Positive, INTERNAL] = 4_000
    """Of one socket, over time; five seconds' worth may come at once, more closes it (1013)."""
    bytes_per_second: Annotated[Positive, INTERNAL] = 256 * 1024 * 1024
    """The same for the size of what it sends."""
    invite_seconds: Annotated[float, Field(gt=0)] = 12 * 3600.0
    """How long a join link for other devices works, in seconds."""
    log_format: LogFormat = "text"
    """Show the logs on stderr too, in this form; the run's files have it as well."""
    log_level: LogLevel = "info"
    """Show the logs on stderr too, from this level on, which is the least in the run's files as well; unless
    given, stderr has warnings alone."""
    admin_token: str | None = Field(default=None, repr=False)
    """The admin's token, chosen by you, as it is; else each start makes and prints one. One that you chose is
    not printed."""
    admin_token_file: Path | None = None
    """A file that holds it, which others cannot read."""
    worker_token: str | None = Field(default=None, repr=False)
    """The fleet's token, chosen by you: for the trainer, and for `attract join` without `--token`."""
    worker_token_file: Path | None = None
    """A file that holds it."""
    worker_tier: Literal["local", "invited"] = "invited"
    """What a fleet counts as that shows the worker token: `invited`, whose play is checked as any stranger's,
    or `local`, where you alone run all its machines."""
    behind_proxy: Names = ()
    """Addresses or networks of the proxies before the server, with commas: their forwarded headers are
    believed, nobody else's."""
    tls_cert: Path | None = None
    """Certificate chain in PEM: the server speaks TLS itself, and may be reached from the network."""
    tls_key: Path | None = None
    """The certificate's key in PEM."""

    cell: Annotated[Cell | None, INTERNAL] = None
    """Which of several cells this is, as a launcher's variables say; None: it trains alone."""

    @model_validator(mode="after")
    def _may_listen(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key work together: give both")
        for address in self.behind_proxy:
            try:
                network = ip_network(address, strict=False)
            except ValueError:
                raise ValueError(
                    f"behind_proxy {address!r} is no address; e.g. 10.0.0.5 or 10.0.0.0/24"
                ) from None
            if network.prefixlen == 0:
                raise ValueError(f"behind_proxy {address!r} is everybody; name the proxy's own address")
        if not (is_loopback(self.host) or self.lan or self.tls_cert or self.behind_proxy):
            raise ValueError(
                f"host {self.host!r} lets the network in, in plain text; allow it by --lan, or give"
                " --tls-cert and --tls-key, or --behind-proxy ADDRESS"
            )
        return self

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Self:
        """Settings from `ATTRACT_*` variables, with `given` (flags; None is not given) above them.

        Raises: ConfigurationError: for values that cannot work.
        """
        found: dict[str, Any] = {}
        written: dict[str, str] = {}
        for source, name in SERVER_VARIABLES.items():
            text = environment.get(source, "").strip()
            if not text:
                continue
            found[name] = text
            written[name] = source
        for name, value in given.items():
            if value is not None:
                found[name] = value
                written[name] = f"--{name.replace('_', '-')}"
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            raise refusal(error, cls, found, lambda path: written.get(str(path[0]), dotted(path))) from None


def server_default(name: str) -> str | None:
    """What a setting of the server is unless it is given, as a person would write it; None: nothing."""
    default = ServerSettings.model_fields[name].get_default()
    if default in (None, False, ()):
        return None
    if isinstance(default, Path):
        return f"./{default}" if default != Path() else "the current folder"
    return f"{default:g}" if isinstance(default, float) else str(default)


SERVER_VARIABLES: Final[Mapping[str, str]] = {
    variable(name): name
    for name, field in ServerSettings.model_fields.items()
    if INTERNAL not in field.metadata
}
"""Environment variable to the server setting it gives."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def merge_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings of settings as one, later layers above earlier ones; nothing is checked."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            if isinstance(value, Mapping) and isinstance(below, Mapping):
                merged[key] = merge_settings(
                    cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value)
                )
            else:
                merged[key] = value
    return merged
