"""How run settings become flags of `attract train`, in groups, and how a mistake in a flag is told."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from cyclopts import CoercionError, CycloptsError, Group, MissingArgumentError, Parameter
from cyclopts.exceptions import UnusedCliTokensError
from pydantic import PlainValidator, create_model
from rich.text import Text

from attract.settings.presets import PRESET_HELP
from attract.settings.run import RunSettings

RUN: Final = Group("Run", sort_key=1)
GOAL: Final = Group("When it ends", sort_key=2)
SERVER: Final = Group("Dashboard", sort_key=3)
LEARNING: Final = Group("Learning", help="How experience becomes a better policy.", sort_key=4)
POLICY: Final = Group("Policy", help="The network.", sort_key=5)
COLLECTION: Final = Group("Collection", help="Who plays the games, and how many at once.", sort_key=6)
EVALUATION: Final = Group("Evaluation", help="How a policy is judged.", sort_key=7)
COURSE: Final = Group("Curriculum", help="What the games are started with, and what falls due.", sort_key=8)
FEDERATED: Final = Group("Averaging with other trainers", sort_key=9)
OTHER: Final = Group("Other", sort_key=10)

GROUPS: Final = {
    "total_steps": GOAL,
    "until_return": GOAL,
    "seed": LEARNING,
    "preset": LEARNING,
    "algorithm": LEARNING,
    "ppo": LEARNING,
    "exploration": LEARNING,
    "rnd": LEARNING,
    "device": LEARNING,
    "learner_threads": LEARNING,
    "policy": POLICY,
    "collection": COLLECTION,
    "evaluation": EVALUATION,
    "parameters": COURSE,
    "curriculum": COURSE,
    "callbacks": COURSE,
    "federated": FEDERATED,
}
"""Section or setting to the group in which `--help` shows it."""
KINDS: Final = {int: "a whole number", float: "a number"}


PARAMETERS: Final = "How the game's parameters are drawn at each start, in training and in evaluation"
PRESETS: Final = (
    "A named set of settings beneath those that are given here; by default what the game recommends"
)
EXAMPLE: Final = '{"size": 10, "wind": {"uniform": [0, 3]}}'


class GivenFlags(dict[str, Any]):
    """Settings given by flags: nested texts that nobody has checked yet."""


def _grouped_settings() -> type[RunSettings]:
    """`RunSettings` with a group for each field, and the game's parameters as one text."""
    fields: Any = {
        name: (Annotated[field.annotation, Parameter(group=GROUPS.get(name, OTHER))], field)
        for name, field in RunSettings.model_fields.items()
    }
    shown = Parameter(group=COURSE, help=f"{PARAMETERS}, as JSON: {EXAMPLE}", show_default=False)
    fields["parameters"] = (Annotated[str, shown], "")
    presets = " ".join(f"`{name}`: {text}" for name, text in PRESET_HELP.items())
    named = Parameter(group=LEARNING, help=f"{PRESETS}. {presets}")
    choices: Any = RunSettings.model_fields["preset"].annotation
    fields["preset"] = (Annotated[choices, named], None)
    return create_model("SettingFlags", __base__=RunSettings, __doc__=RunSettings.__doc__, **fields)


SettingFlags: Final = _grouped_settings()
"""The shape of the flags; none is ever made: what flags give is checked together with all other layers."""
RunFlags = Annotated[
    SettingFlags,
    Parameter(name="*", negative_iterable=()),
    PlainValidator(lambda values: GivenFlags(cast("dict[str, Any]", values))),
]
"""A parameter that takes every setting as a flag; `GivenFlags` arrive, or the default without any."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """How the server is reached and what it logs: the flags that every command takes which serves others."""

    lan: Annotated[bool, Parameter(negative=())] = False
    """Listen on the local network too, for devices with a join link."""
    log_format: Literal["text", "json"] | None = None
    """Show the logs on stderr, as lines of text or as JSON; the files of the run have the same form."""
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    """The least that is logged; by default info in the run's files, and on stderr warnings alone."""
    worker_tier: Literal["local", "invited"] | None = None
    """What a fleet counts as that shows $ATTRACT_WORKER_TOKEN: `invited`, whose play is checked as any
    stranger's, or `local`, where you alone run all its machines."""
    behind_proxy: str | None = None
    """Address or network of the proxy before the server, with commas: its forwarded headers are believed."""
    tls_cert: Path | None = None
    """Certificate chain in PEM: the server speaks TLS, and may be reached from the network."""
    tls_key: Path | None = None
    """The certificate's key in PEM."""

    def given(self) -> dict[str, Any]:
        """Those that were given, as `ServerSettings` calls them; the environment decides on the others."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}


def mistake(error: CycloptsError) -> Text:
    """One line on what was wrong with the words of a command line, and what would be right."""
    return Text.assemble(("error:", "red"), f" {_mistake(error)}")


def _mistake(error: CycloptsError) -> str:
    name = "" if error.argument is None else error.argument.name
    if isinstance(error, CoercionError) and error.token is not None and error.target_type is not None:
        wanted = _wanted(error.target_type)
        if wanted is not None:
            return f"{error.token.keyword or name}: must be {wanted} (got {error.token.value!r})"
    if isinstance(error, MissingArgumentError):
        command = " ".join(("attract", *(error.command_chain or ())))
        return f"{name.lstrip('-') if name.isupper() else name} is missing; {command} --help shows all"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return (
            f"nothing takes {error.unused_tokens[0]!r}: an option has one value, "
            "and a list is one text with commas, such as --policy.hidden-sizes 64,64"
        )
    return str(error)


def _wanted(kind: Any) -> str | None:
    """What a value of this type looks like, None for types whose own message is clear."""
    kinds = [one for one in (get_args(kind) or (kind,)) if one is not type(None)]
    if get_origin(kind) is Literal:
        *others, last = (str(one) for one in kinds)
        return f"{', '.join(others)} or {last}"
    return KINDS.get(kinds[0]) if len(kinds) == 1 else None
