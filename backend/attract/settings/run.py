"""Settings as frozen classes, one per concern: built at the composition roots and passed in."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from attract.schema.devices import DeviceName
from attract.settings.algorithm import AlgorithmSettings, RunContext
from attract.settings.base import (
    Fraction,
    LearnerName,
    LogFormat,
    LogLevel,
    Positive,
    Settings,
    split_names,
    variable,
)
from attract.settings.cloning import CloningSettings
from attract.settings.collection import CollectionSettings
from attract.settings.curriculum import (
    CallbackSettings,
    CurriculumSettings,
    DistributionSettings,
    FederatedSettings,
)
from attract.settings.dqn import DqnSettings
from attract.settings.errors import dotted, refusal
from attract.settings.outside import programs_of
from attract.settings.ppo import PpoSettings
from attract.settings.rnd import RndSettings
from attract.settings.sac import SacSettings
from attract.settings.self_play import SelfPlaySettings


def _sizes(given: Any) -> Any:
    """The numbers in a text with commas or brackets, alone or as the one of a list; or one number alone."""
    texts = cast("list[Any] | tuple[Any]", given) if isinstance(given, list | tuple) else [given]
    if not any(isinstance(text, str) for text in texts):
        # A flag or a variable that is one number comes as that number.
        return (given,) if type(given) is int else given
    return tuple(part for text in texts for part in re.split(r"[\s,]+", str(text).strip("[]() ")) if part)


Units = Annotated[int, Field(ge=1, le=16_384)]
"""Units of one layer: two of the largest hold 268 million weights, a gigabyte."""


Activation = Literal["tanh", "relu"]


class PolicySettings(Settings):
    """The network; its kind follows from the observation space."""

    section: ClassVar[str] = "policy"

    hidden_sizes: Annotated[
        tuple[Units, ...], BeforeValidator(_sizes), Field(max_length=32, title="Hidden layers")
    ] = (64, 64)
    """Units of each hidden layer of the trunk, in order, separated by commas: `64,64`."""
    activation: Activation | None = None
    """Activation after each hidden layer. None: ReLU in a policy's own trunk that chooses among actions by
    plain numbers, without memory, images or sets; otherwise tanh."""
    shared_trunk: bool = False
    """Share one trunk between policy and value: about twice as fast. Separate trunks learn hard games
    better. DQN always shares it."""
    cnn: Annotated[Literal["small", "impala"], Field(title="Image encoder")] = "small"
    """Encoder of image observations: boxes of [height, width, channels]."""
    recurrent: Annotated[Literal["none", "lstm", "gru"], Field(title="Memory")] = "none"
    """A recurrent core between the encoders and the trunk."""
    recurrent_size: Annotated[Units, Field(title="Memory size")] = 64
    """Outputs of the recurrent core."""
    log_std_init: Annotated[
        Annotated[float, Field(ge=-5.0, le=2.0)] | None, Field(title="Initial log standard deviation")
    ] = None
    """Initial log standard deviation of continuous actions, in units of half the action's range. None: 0.5;
    -0.5 in mixed actions, whose boxes are places more often than forces."""

    def activation_for(self, *, is_plain: bool, shares_trunk: bool) -> Activation:
        """`activation`, or what suits the policy's trunk; the value's own has tanh then.

        Args:
            is_plain: whether it chooses among actions by plain numbers.
            shares_trunk: with the value.
        """
        if self.activation is not None:
            return self.activation
        # Between two distances at which it acts, a policy of tanh hardly learns to wait.
        return "relu" if is_plain and not shares_trunk and self.recurrent == "none" else "tanh"

    def log_std_for(self, *, is_mixed: bool) -> float:
        """`log_std_init`, or what suits the kind of action.

        From 0.5 on, five of six places of a pointer lie on the edge of its box.
        """
        if self.log_std_init is not None:
            return self.log_std_init
        return -0.5 if is_mixed else 0.5

    @property
    def state_size(self) -> int:
        """Numbers of a slot's packed recurrent state: [h, c] of an LSTM, [h] of a GRU; 0: feed-forward."""
        return {"none": 0, "lstm": 2, "gru": 1}[self.recurrent] * self.recurrent_size


EXPECTED_STEPS: Final = 1_000_000
"""Assumed length of a run without an end, in agent steps."""


class EvaluationSettings(Settings):
    """How a policy is evaluated: on fixed seeds, each episode to its end."""

    section: ClassVar[str] = "evaluation"

    episodes: Annotated[Positive, Field(title="Evaluation episodes")] = 100
    """Episodes per evaluation."""
    deterministic: Annotated[bool, Field(title="Deterministic actions")] = True
    """Take the most probable action in each step instead of sampling one; training always samples."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1, title="Evaluation seed")] = 20_000
    """Seed of the evaluation episodes, independent of training. The same seed plays the same episodes."""


class RecordingSettings(Settings):
    """Which episodes a run keeps, to be played again."""

    section: ClassVar[str] = "recording"

    max_bytes: Annotated[int, Field(ge=0, le=2**40, title="Kept episodes (bytes)")] = 64 << 20
    """Bytes of all kept episodes. Above it, training episodes and medians are thinned first; starred episodes
    and failures stay. 0: none are kept."""
    max_episodes: Annotated[int, Field(ge=0, le=10_000, title="Kept episodes")] = 1000
    """Number of kept episodes; thinned as by `max_bytes`. 0: none are kept."""
    every_updates: Annotated[int, Field(ge=0, le=2**53 - 1, title="Training episodes every")] = 25
    """Interval in updates at which the best, the worst and the median training episode are kept. 0: none are;
    those of evaluations and failures still are."""

    @property
    def keeps(self) -> bool:
        return self.max_bytes > 0 and self.max_episodes > 0


class RunSettings(Settings):
    """All settings of a run; written to its `config.yaml`."""

    section: ClassVar[str] = ""

    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    """Seed of all randomness: initial weights, episodes, actions, order of experience. The same seed gives
    the same games."""
    total_steps: Annotated[Positive | None, Field(title="Stop after steps")] = None
    """Ends the run after this many agent steps. None: no limit; the run continues until it is stopped."""
    until_return: Annotated[float | None, Field(title="Stop at return")] = None
    """Ends the run once the mean return of the last 100 training episodes reaches this and an evaluation
    confirms it: its mean is one standard error above. None: no goal."""
    until_win_rate: Annotated[Fraction | None, Field(title="Stop at win rate")] = None
    """Ends the run once the policy has won this share of the last 100 whole episodes against opponents, or
    against the one that `self_play.against` names; a standard error above it. None: no goal."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of the learner. `auto`: a CUDA GPU if torch finds one and the network keeps it busy (with
    convolutions, memory, attention, or 100,000 weights), otherwise the CPU."""
    learner_threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Torch threads. 0: one, or more if cores are free at the start and matrix products are faster with
    them."""
    learner: LearnerName = "auto"
    """How gradients are computed. `auto`: by explicit formulas for dense networks on a CPU, in half the time;
    otherwise by torch autograd. `autograd`: always by torch."""
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
            "slow-page",
        ]
        | None
    ) = None
    """A named set of hyperparameters; settings given explicitly override it. None: what the game
    recommends."""
    policy: Annotated[PolicySettings, Field(title="Network")] = PolicySettings()
    algorithm: Literal["ppo", "dqn", "sac"] = "ppo"
    """Training algorithm; its settings are in the section of its name. `ppo`: for games that give thousands
    of steps a second. `dqn`: learns more from each step, for pages that give few; discrete actions only.
    `sac`: the same for actions that are real numbers."""
    ppo: Annotated[PpoSettings, Field(title="Learning (PPO)")] = PpoSettings()
    dqn: Annotated[DqnSettings, Field(title="Learning (DQN)")] = DqnSettings()
    sac: Annotated[SacSettings, Field(title="Learning (SAC)")] = SacSettings()
    exploration: Literal["none", "rnd"] = "none"
    """`rnd`: add an intrinsic reward for novel observations (random network distillation). Use it for goals
    that random play never finds."""
    rnd: Annotated[RndSettings, Field(title="Exploration (RND)")] = RndSettings()
    cloning: Annotated[CloningSettings, Field(title="Demonstrations")] = CloningSettings()
    collection: Annotated[CollectionSettings, Field(title="Workers and games")] = CollectionSettings()
    self_play: Annotated[SelfPlaySettings, Field(title="Opponents")] = SelfPlaySettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    recording: Annotated[RecordingSettings, Field(title="Recorded episodes")] = RecordingSettings()
    parameters: dict[str, DistributionSettings] = {}
    """Distributions of the game's parameters, drawn at each episode start in training and evaluation, as
    JSON: {"size": 10, "wind": {"uniform": [0, 3]}}."""
    curriculum: Annotated[CurriculumSettings, Field(title="Lessons")] = CurriculumSettings()
    callbacks: Annotated[CallbackSettings, Field(title="Evaluation and checkpoints")] = CallbackSettings()
    federated: Annotated[FederatedSettings | None, Field(title="Averaging between trainers")] = None
    """Average the policy with other trainers; None: train alone."""

    @property
    def algorithm_settings(self) -> AlgorithmSettings:
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
    def hyperparameters(self) -> Settings:
        """The algorithm's own settings, with what other settings decide of them."""
        own = cast("Settings", self.algorithm_settings)
        return own.model_copy(update=self.algorithm_settings.resolve(self.context))

    @model_validator(mode="after")
    def _fit_policy(self) -> Self:
        is_recurrent = self.policy.state_size > 0
        in_use = {
            "policy.recurrent": is_recurrent,
            "exploration": self.exploration != "none",
            "cloning.demonstrations": self.cloning.demonstrations is not None,
            "federated": self.federated is not None,
        }
        for path, reason in self.algorithm_settings.refuses.items():
            if in_use.get(path):
                raise ValueError(f"{path}: {reason}")
        self.algorithm_settings.check_policy(is_recurrent=is_recurrent)
        return self

    @model_validator(mode="after")
    def _fit_seats(self) -> Self:
        if not self.self_play.is_on:
            if self.until_win_rate is not None:
                raise ValueError(
                    "until_win_rate: nobody is there to win against; name opponents by self_play.seats"
                )
            return self
        if self.collection.seats:
            raise ValueError("self_play.seats: opponents are of one policy; leave collection.seats empty")
        if self.collection.inference == "server":
            raise ValueError(
                "self_play.seats: with opponents the policy runs in the workers; "
                "leave collection.inference at `worker`"
            )
        return self


ALGORITHM_SETTINGS: Final[Mapping[str, type[AlgorithmSettings]]] = {
    "ppo": PpoSettings,
    "dqn": DqnSettings,
    "sac": SacSettings,
}
"""By the algorithm's name: a field of `RunSettings`, and a key of the learner's registry."""


TRACKERS: Final = ("wandb", "trackio")
"""Names of the tools; each is that of its package, and of the extra that installs it."""
INTERNAL: Final = "internal"
"""Marks a setting of the server that only code sets: it has no flag and no variable."""


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
    """Port to listen on. If the default port is busy, `train` takes a free one; a port given explicitly is
    never replaced."""
    runs_dir: Path = Path("runs")
    """Folder of all runs."""
    project_dir: Path = Path()
    """Folder whose game modules may be trained; nothing outside it is bundled. Without it, commands that take
    a game's path use the repository or package that contains the game."""
    include: Names = ()
    """Files and folders that a game's page may load from above its folder, separated by commas; all others
    there are refused. `attract export --page` copies those that the page requests, folders whole."""
    page_device: DeviceName | None = None
    """Device for games that live in pages, in place of what their adapters say: `desktop`, `desktop@2x`,
    `phone`, `phone-landscape` or `tablet`. A resumed run keeps its own. Commands without a learner call the
    flag `--device`."""
    lan: bool = False
    """Also listen on the local network, for devices with a join link."""
    public_url: str | None = None
    """URL of the server as browsers see it, behind a proxy. Used for links and the allow-lists."""
    allowed_hosts: Names = ()
    """Additional host names of the server besides loopback and `public_url`, separated by commas."""
    allowed_origins: Names = ()
    """Additional exact origins of its pages, separated by commas."""
    web_dir: Annotated[Path | None, INTERNAL] = None
    """Folder of the built pages. None: the one inside the package."""
    max_frame_bytes: Annotated[Positive, INTERNAL] = 4 * 1024 * 1024 + 64 * 1024
    hello_seconds: Annotated[float, Field(gt=0), INTERNAL] = 3.0
    request_seconds: Annotated[float, Field(gt=0), INTERNAL] = 10.0
    send_seconds: Annotated[float, Field(gt=0), INTERNAL] = 10.0
    sockets_per_address: Positive = 64
    """Maximum open sockets per address without a token yet."""
    sockets_per_token: Positive = 1024
    """Maximum open sockets per token, over all addresses."""
    messages_per_second: Annotated[Positive, INTERNAL] = 4_000
    """Mean rate per socket. A burst may hold five seconds' worth; more closes the socket (1013)."""
    bytes_per_second: Annotated[Positive, INTERNAL] = 256 * 1024 * 1024
    """The same limit for bytes per second."""
    invite_seconds: Annotated[float, Field(gt=0)] = 12 * 3600.0
    """Validity of a join link for other devices, in seconds."""
    trackers: Names = ()
    """Tools that get a copy of each run's metrics besides TensorBoard, separated by commas: `wandb`,
    `trackio`."""
    log_format: LogFormat = "text"
    """Format of the logs in the run's files. If given, the logs are also printed to stderr."""
    log_level: LogLevel = "info"
    """Minimum level of the logs in the run's files. If given, the logs are also printed to stderr from this
    level on; otherwise stderr has only warnings."""
    admin_token: str | None = Field(default=None, repr=False)
    """The admin's token, in plain text. Without it, each start generates and prints one. A given token is not
    printed."""
    admin_token_file: Path | None = None
    """A file with the admin's token that other users cannot read."""
    worker_token: str | None = Field(default=None, repr=False)
    """The workers' token, for the trainer and for `attract join` without `--token`."""
    worker_token_file: Path | None = None
    """A file with the workers' token."""
    worker_tier: Literal["local", "invited"] = "invited"
    """Trust in workers with the worker token. `invited`: their play is checked, as for any untrusted worker.
    `local`: it is not; use it only if you run all their machines."""
    behind_proxy: Names = ()
    """Addresses or networks of the proxies in front of the server, separated by commas. Forwarded headers are
    accepted from these only."""
    tls_cert: Path | None = None
    """Certificate chain in PEM. The server then uses TLS and may be reached from the network."""
    tls_key: Path | None = None
    """Private key of the certificate in PEM."""

    outside: Annotated[dict[str, str], BeforeValidator(programs_of), INTERNAL] = {}
    """Programs that may play, by name: a command, or a URL of this machine. Flags alone give them: a command
    is run, so that no request, no variable and no file beside a game may name one."""
    outside_seconds: Annotated[float, Field(gt=0, le=600), INTERNAL] = 5.0
    """Deadline of each of their decisions."""
    webhook: str | None = Field(default=None, repr=False)
    """URL (http or https) that gets a JSON object by POST when a run is solved, does not learn, or ends."""

    @model_validator(mode="after")
    def _are_there(self) -> Self:
        for name in self.include:
            if Path(name).is_symlink() or not Path(name).exists():
                raise ValueError(f"include {name!r} is not a file or a folder; links are not followed")
        return self

    @model_validator(mode="after")
    def _can_track(self) -> Self:
        for name in self.trackers:
            if name not in TRACKERS:
                raise ValueError(f"trackers {name!r} is unknown; there are {', '.join(TRACKERS)}")
            if find_spec(name) is None:
                raise ValueError(f"trackers {name!r} is not installed: pip install 'attract-rl[{name}]'")
        return self

    @model_validator(mode="after")
    def _may_listen(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key work together: give both")
        if self.webhook is not None:
            _check_webhook(self.webhook)
        for address in self.behind_proxy:
            try:
                network = ip_network(address, strict=False)
            except ValueError:
                raise ValueError(
                    f"behind_proxy {address!r} is not an address; e.g. 10.0.0.5 or 10.0.0.0/24"
                ) from None
            if network.prefixlen == 0:
                raise ValueError(
                    f"behind_proxy {address!r} matches every address; give the proxy's own address"
                )
        if not (is_loopback(self.host) or self.lan or self.tls_cert or self.behind_proxy):
            raise ValueError(
                f"host {self.host!r} opens the server to the network in plain text; allow it by --lan, or"
                " give --tls-cert and --tls-key, or --behind-proxy ADDRESS"
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


def _check_webhook(url: str) -> None:
    """Raises: ValueError: not an http or https URL. The URL may be a secret, and is not repeated."""
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        # urllib takes user and password for a part of the host's name: nothing would ever arrive.
        is_fine = is_fine and "@" not in parts.netloc
    except ValueError:
        is_fine = False
    if not is_fine or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(
            "webhook must be an http or https URL without user and password, such as https://example.org/hook"
        )


def server_default(name: str) -> str | None:
    """Default of a server setting, as a user would write it; None: no default."""
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
