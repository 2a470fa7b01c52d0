"""Turns settings into flags of commands, in groups, and reports mistakes in flags."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from cyclopts import CoercionError, CycloptsError, Group, MissingArgumentError, Parameter, Token
from cyclopts.exceptions import UnusedCliTokensError
from cyclopts.validators import Number
from pydantic import BaseModel, PlainValidator, create_model
from pydantic.fields import FieldInfo
from rich.text import Text

from attract.cli.help import SettingsLayout
from attract.schema.devices import DeviceName
from attract.settings.base import Settings, variable
from attract.settings.fields import may_be_unset, section_of, unset_text
from attract.settings.presets import PRESET_HELP
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings, ServerSettings, server_default

RUN: Final = Group("Run", sort_key=1)
GOAL: Final = Group("When it ends", sort_key=2)
SERVER: Final = Group("Dashboard", sort_key=3)


def _settings(name: str, place: int, text: str = "") -> Group:
    """A group that only `--help-all` shows."""
    return Group(name, help=text, sort_key=place, help_formatter=SettingsLayout())


LEARNING: Final = _settings("Learning", 4, "The training algorithm and its hyperparameters.")
POLICY: Final = _settings("Policy", 5, "The policy network.")
COLLECTION: Final = _settings("Collection", 6, "Workers, games and batches.")
EVALUATION: Final = _settings("Evaluation", 7, "How a policy is evaluated, and which episodes are kept.")
COURSE: Final = _settings("Curriculum", 8, "Game parameters, lessons, and actions at intervals.")
FEDERATED: Final = _settings("Averaging with other trainers", 9)
OTHER: Final = Group("Other", sort_key=10)

GROUPS: Final = {
    "total_steps": GOAL,
    "until_return": GOAL,
    "seed": RUN,
    "preset": RUN,
    "algorithm": LEARNING,
    **dict.fromkeys(ALGORITHM_SETTINGS, LEARNING),
    "exploration": LEARNING,
    "rnd": LEARNING,
    "cloning": LEARNING,
    "device": LEARNING,
    "learner_threads": LEARNING,
    "learner": LEARNING,
    "policy": POLICY,
    "collection": COLLECTION,
    "evaluation": EVALUATION,
    "recording": EVALUATION,
    "parameters": COURSE,
    "curriculum": COURSE,
    "callbacks": COURSE,
    "federated": FEDERATED,
}
"""Section or setting to the group in which `--help` shows it."""
KINDS: Final = {int: "a whole number", float: "a number"}


class GivenFlags(dict[str, Any]):
    """Settings given by flags: nested texts, not checked yet."""


def given_flags(arrived: Any) -> dict[str, Any]:
    """Settings that were given as flags; empty without any."""
    return cast("dict[str, Any]", arrived) if isinstance(arrived, GivenFlags) else {}


def flag_help(field: FieldInfo) -> str:
    """Help of a setting: its docstring, with the text that unsets it in the place of None."""
    unset = unset_text(field.annotation)
    text = " ".join((field.description or "").split())
    return text if unset is None else text.replace("None:", f"`{unset}`:")


def _as_flags(settings: type[Settings], groups: Mapping[str, Group]) -> Any:
    """The class with a help text and a group for each flag."""
    fields: Any = {}
    for name, field in settings.model_fields.items():
        shape: Any = field.annotation
        parameter = Parameter(help=flag_help(field))
        if (section := section_of(shape)) is not None:
            inner = _as_flags(cast("type[Settings]", section), {})
            shape = inner | None if may_be_unset(shape) else inner
        if name in groups:
            parameter = Parameter.combine(parameter, Parameter(group=groups[name]))
        fields[name] = (Annotated[shape, parameter], field)
    if settings is RunSettings:
        fields |= _own_shapes()
    return create_model(settings.__name__, __base__=settings, __doc__=settings.__doc__, **fields)


def _own_shapes() -> dict[str, Any]:
    """The game's parameters are one text; the presets are each explained."""
    parameters, preset = (RunSettings.model_fields[name] for name in ("parameters", "preset"))
    shown = Parameter(group=GROUPS["parameters"], help=flag_help(parameters), show_default=False)
    presets = " ".join(f"`{name}`: {text}" for name, text in PRESET_HELP.items())
    named = Parameter(group=GROUPS["preset"], help=f"{flag_help(preset)} {presets}")
    choices: Any = preset.annotation
    return {"parameters": (Annotated[str, shown], ""), "preset": (Annotated[choices, named], None)}


SettingFlags: Final[type[RunSettings]] = _as_flags(RunSettings, GROUPS)
"""Declares the flags. It is never instantiated: flags are checked together with all other layers."""
RunFlags = Annotated[
    SettingFlags,
    Parameter(name="*", negative_iterable=()),
    PlainValidator(lambda values: GivenFlags(cast("dict[str, Any]", values))),
]
"""A parameter that takes every setting as a flag; `GivenFlags` arrive, or the default without any."""


def _as_text(_kind: Any, tokens: Sequence[Token]) -> str:
    return tokens[0].value


Alias = Annotated[str | None, Parameter(group=RUN, converter=_as_text)]
"""A parameter that gives a setting by a shorter name, as a text that is not checked yet."""


SERVED_FLAGS: Final = (
    "include",
    "page_device",
    "lan",
    "trackers",
    "log_format",
    "log_level",
    "worker_tier",
    "behind_proxy",
    "tls_cert",
    "tls_key",
    "webhook",
)
"""Settings of the server that are flags of every command that serves other machines."""


def server_help(name: str) -> str:
    """Help of a setting of the server: its docstring, its variable and its default."""
    default = server_default(name)
    otherwise = "" if default is None else f" or {default}"
    return f"{flag_help(ServerSettings.model_fields[name])} By default ${variable(name)}{otherwise}."


def _served_flags() -> type[BaseModel]:
    fields: Any = {}
    for name in SERVED_FLAGS:
        shape: Any = ServerSettings.model_fields[name].annotation
        fields[name] = (Annotated[shape | None, Parameter(help=server_help(name))], None)
    return create_model("ServerFlags", **fields)


ServedFlags: Final = _served_flags()
"""Declares the server's flags; they are checked together with the environment."""
ServerFlags = Annotated[
    ServedFlags,
    Parameter(name="*", negative=(), negative_iterable=(), group=SERVER),
    PlainValidator(lambda values: GivenFlags(cast("dict[str, Any]", values))),
]
"""A parameter that takes every such flag; `GivenFlags` arrive, or the default without any."""
Host = Annotated[str | None, Parameter(help=server_help("host"))]
Port = Annotated[int | None, Parameter(help=server_help("port"))]
RunsDir = Annotated[Path | None, Parameter(help=server_help("runs_dir"))]
ProjectDir = Annotated[Path | None, Parameter(help=server_help("project_dir"))]
Include = Annotated[str | None, Parameter(help=server_help("include"))]
PageDevice = Annotated[
    DeviceName | None,
    Parameter(
        name="--device",
        help="Play the page on this device. By default what its adapter says, or a desktop.",
    ),
]
GameProjectDir = ProjectDir
AtLeastOne = Parameter(validator=Number(gte=1))


def mistake(error: CycloptsError) -> Text:
    """One line: what is wrong in a command line, and what would be valid."""
    return Text.assemble(("error:", "red"), f" {mistake_text(error)}")


def mistake_text(error: CycloptsError) -> str:
    """The same without its first word."""
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
            f"unexpected {error.unused_tokens[0]!r}: an option takes one value, "
            "and a list is one word with commas, for example --policy.hidden-sizes 64,64"
        )
    return str(error)


def _wanted(kind: Any) -> str | None:
    """Description of valid values of this type; None for types whose own message is clear."""
    kinds = [arg for arg in (get_args(kind) or (kind,)) if arg is not type(None)]
    if get_origin(kind) is Literal:
        *others, last = (str(kind) for kind in kinds)
        return f"{', '.join(others)} or {last}"
    return KINDS.get(kinds[0]) if len(kinds) == 1 else None
