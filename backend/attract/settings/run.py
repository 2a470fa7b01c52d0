"""Settings as frozen classes, one per concern: built at the composition roots and passed in."""

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from attract.settings.base import Positive, Settings, split_names
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
    if not any(isinstance(one, str) for one in texts):
        return given
    return tuple(part for one in texts for part in re.split(r"[\s,]+", str(one).strip("[]() ")) if part)


Units = Annotated[int, Field(ge=1, le=16_384)]
"""Of one layer: two of the largest hold 268 million weights, a gigabyte."""


class PolicySettings(Settings):
    """The network; which kind is used follows from the observation space."""

    section: ClassVar[str] = "policy"

    hidden_sizes: Annotated[tuple[Units, ...], BeforeValidator(_sizes), Field(max_length=32)] = (64, 64)
    """Units of each layer of the trunk, the first first; as a flag `64,64`."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Between the layers of the trunk."""
    shared_trunk: bool = False
    """One trunk for actions and value (about twice as fast), or one each, which learns more of hard games."""
    cnn: Literal["small", "impala"] = "small"
    """What encodes images, that is boxes of [height, width, channels]."""
    recurrent: Literal["none", "lstm", "gru"] = "none"
    """A recurrent core between the encoders and the trunk."""
    recurrent_size: Units = 64
    """Outputs of that core."""
    log_std_init: Annotated[float, Field(ge=-5.0, le=2.0)] = 0.5
    """Of continuous actions at first, in units of half the action's range: how widely it tries."""

    @property
    def state_size(self) -> int:
        """Numbers of a slot's packed recurrent state: [h, c] of an LSTM, [h] of a GRU; 0: feed-forward."""
        return {"none": 0, "lstm": 2, "gru": 1}[self.recurrent] * self.recurrent_size


class EvaluationSettings(Settings):
    """How a policy is judged: fixed seeds, each episode played to its end."""

    section: ClassVar[str] = "evaluation"

    episodes: Positive = 100
    """How many episodes one evaluation plays."""
    deterministic: bool = True
    """Take the likeliest action instead of sampling."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = 20_000
    """Of the episodes: the same seed plays the same ones."""


class RunSettings(Settings):
    """Everything that decides a run; written to its `config.yaml`."""

    section: ClassVar[str] = ""

    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    """Of everything that is drawn: first weights, episodes, actions, the order of experience."""
    total_steps: Positive | None = None
    """Stop after this many agent steps."""
    until_return: float | None = None
    """Stop once the mean return of the last 100 training episodes is this, confirmed by an evaluation."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the learner computes; `auto` takes a GPU where torch finds one."""
    learner_threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Torch threads; 0: one on small machines."""
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
    policy: PolicySettings = PolicySettings()
    algorithm: Literal["ppo"] = "ppo"
    """What the policy is trained by; its own settings are in the section of its name."""
    ppo: PpoSettings = PpoSettings()
    exploration: Literal["none", "rnd"] = "none"
    """`rnd`: pay for observations unlike those seen before (random network distillation), beside the game's
    rewards: for goals that random play never finds."""
    rnd: RndSettings = RndSettings()
    collection: CollectionSettings = CollectionSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    parameters: dict[str, DistributionSettings] = {}
    """How the game's parameters are drawn at each start, in training and in evaluation."""
    curriculum: CurriculumSettings = CurriculumSettings()
    callbacks: CallbackSettings = CallbackSettings()
    federated: FederatedSettings | None = None
    """Average the policy with other trainers; None: train alone."""

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
        if self.policy.state_size > 0 and self.ppo.minibatch_unit == "step":
            raise ValueError(
                "a recurrent policy is trained over whole segments; ppo.minibatch_unit 'segment' works"
            )
        if self.policy.state_size == 0 and self.ppo.burn_in_steps > 0:
            raise ValueError(
                "ppo.burn_in_steps is for recurrent policies; this one carries no state: 0 works"
            )
        return self


class ServerSettings(Settings):
    """The gateway: where it listens, what it serves, and its limits (all times in seconds)."""

    section: ClassVar[str] = "server"

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    runs_dir: Path = Path("runs")
    project_dir: Path = Path()
    """Game modules under this directory may be trained; nothing outside it is ever bundled."""
    lan: bool = False
    """Also listen on the local network, for devices that hold a join link."""
    public_url: str | None = None
    """Where browsers see this server when a proxy stands before it, for links and the allow-lists."""
    allowed_hosts: tuple[str, ...] = ()
    """More `Host` names than the loopback ones (and `public_url`'s)."""
    allowed_origins: tuple[str, ...] = ()
    """More exact origins than the page's own."""
    web_dir: Path | None = None
    """Built web side; None: the one inside the package."""
    max_frame_bytes: Positive = 4 * 1024 * 1024 + 64 * 1024
    hello_seconds: Annotated[float, Field(gt=0)] = 3.0
    request_seconds: Annotated[float, Field(gt=0)] = 10.0
    send_seconds: Annotated[float, Field(gt=0)] = 10.0
    sockets_per_address: Positive = 64
    """Open sockets of one address that have not shown a token yet."""
    sockets_per_token: Positive = 1024
    """Open sockets that came in by one token, from whatever addresses."""
    messages_per_second: Positive = 4_000
    """Of one socket, over time; five seconds' worth may come at once, more closes it (1013)."""
    bytes_per_second: Positive = 256 * 1024 * 1024
    """The same for the size of what it sends."""
    invite_seconds: Annotated[float, Field(gt=0)] = 12 * 3600.0
    """How long a join link for other devices works."""
    log_format: Literal["text", "json"] = "text"
    """Of the lines of every log: the run's files and, where it is given, stderr."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is logged."""
    admin_token: str | None = Field(default=None, repr=False)
    """The admin's token, of one's own choice; else a new one is made at each start, and printed."""
    admin_token_file: Path | None = None
    """A file that holds it, which others cannot read."""
    worker_token: str | None = Field(default=None, repr=False)
    """A worker token of one's own choice, for a fleet that is started apart from its trainer."""
    worker_token_file: Path | None = None
    """A file that holds it."""
    worker_tier: Literal["local", "invited"] = "invited"
    """What a fleet with that token counts as: `local` only where all its machines are the operator's."""
    behind_proxy: Annotated[tuple[str, ...], BeforeValidator(split_names)] = ()
    """Addresses or networks of the proxies whose forwarded headers are believed; none: nobody's are."""
    tls_cert: Path | None = None
    """Certificate chain in PEM, with which the server speaks TLS itself."""
    tls_key: Path | None = None
    """The certificate's key in PEM."""

    @model_validator(mode="after")
    def _may_listen(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key work together: give both")
        for one in self.behind_proxy:
            try:
                network = ip_network(one, strict=False)
            except ValueError:
                raise ValueError(
                    f"behind_proxy {one!r} is no address; e.g. 10.0.0.5 or 10.0.0.0/24"
                ) from None
            if network.prefixlen == 0:
                raise ValueError(f"behind_proxy {one!r} is everybody; name the proxy's own address")
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
        for variable, name in SERVER_VARIABLES.items():
            text = environment.get(variable, "").strip()
            if not text:
                continue
            many = name in ("allowed_hosts", "allowed_origins", "behind_proxy")
            found[name] = tuple(part.strip() for part in text.split(",") if part.strip()) if many else text
            written[name] = variable
        for name, value in given.items():
            if value is not None:
                found[name] = value
                written[name] = f"--{name.replace('_', '-')}"
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            raise refusal(error, cls, found, lambda path: written.get(str(path[0]), dotted(path))) from None


SERVER_VARIABLES = {
    "ATTRACT_HOST": "host",
    "ATTRACT_PORT": "port",
    "ATTRACT_RUNS_DIR": "runs_dir",
    "ATTRACT_PROJECT_DIR": "project_dir",
    "ATTRACT_LAN": "lan",
    "ATTRACT_PUBLIC_URL": "public_url",
    "ATTRACT_ALLOWED_HOSTS": "allowed_hosts",
    "ATTRACT_ALLOWED_ORIGINS": "allowed_origins",
    "ATTRACT_ADMIN_TOKEN": "admin_token",
    "ATTRACT_ADMIN_TOKEN_FILE": "admin_token_file",
    "ATTRACT_WORKER_TOKEN": "worker_token",
    "ATTRACT_LOG_FORMAT": "log_format",
    "ATTRACT_LOG_LEVEL": "log_level",
    "ATTRACT_WORKER_TOKEN_FILE": "worker_token_file",
    "ATTRACT_WORKER_TIER": "worker_tier",
    "ATTRACT_INVITE_SECONDS": "invite_seconds",
    "ATTRACT_BEHIND_PROXY": "behind_proxy",
    "ATTRACT_TLS_CERT": "tls_cert",
    "ATTRACT_TLS_KEY": "tls_key",
    "ATTRACT_SOCKETS_PER_ADDRESS": "sockets_per_address",
    "ATTRACT_SOCKETS_PER_TOKEN": "sockets_per_token",
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
