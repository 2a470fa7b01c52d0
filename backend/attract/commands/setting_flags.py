"""Settings of a run and of its server as flags, in groups, and their layers: files, variables and flags."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from cyclopts import Group, Parameter, Token
from pydantic import BaseModel, PlainValidator

from attract.commands.flags import flag_help, served_game, server_help
from attract.commands.help import SettingsLayout
from attract.settings.fields import section_of
from attract.settings.presets import PRESET_HELP
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings, ServerSettings

if TYPE_CHECKING:
    from attract.settings.given import LayeredSettings

RUN: Final = Group("Run", sort_key=1)
GOAL: Final = Group("When it ends", sort_key=2)
SERVER: Final = Group("Dashboard", sort_key=3)


def _settings(name: str, place: int, text: str = "") -> Group:
    """A group that only `--help-all` shows."""
    return Group(name, help=text, sort_key=place, help_formatter=SettingsLayout())


LEARNING: Final = _settings("Learning", 4, "The training algorithm and its hyperparameters.")
POLICY: Final = _settings("Policy", 5, "The policy network.")
COLLECTION: Final = _settings("Collection", 6, "Workers, games and batches.")
OPPONENTS: Final = _settings("Opponents", 7, "Who plays against the policy, in games of several agents.")
EVALUATION: Final = _settings("Evaluation", 8, "How a policy is evaluated, and which episodes are kept.")
COURSE: Final = _settings("Curriculum", 9, "Game parameters, lessons, and actions at intervals.")
FEDERATED: Final = _settings("Averaging with other trainers", 10)
OTHER: Final = Group("Other", sort_key=11)

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
    "self_play": OPPONENTS,
    "evaluation": EVALUATION,
    "recording": EVALUATION,
    "parameters": COURSE,
    "curriculum": COURSE,
    "callbacks": COURSE,
    "federated": FEDERATED,
}
"""Section or setting to the group in which `--help` shows it."""
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


def _as_text(_kind: Any, tokens: Sequence[Token]) -> str:
    return tokens[0].value


AS_GIVEN: Final = PlainValidator(lambda value: value)
"""A setting is not checked as a flag, but together with all other layers."""
TEXT: Final = Parameter(converter=_as_text)


def _typed_dict(fields: Mapping[str, Any]) -> Any:
    """A dictionary type whose keys are flags; only those that are given arrive."""
    kind: Any = TypedDict("Settings", fields, total=False)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    # Without a module no docstrings are looked for: reading the source of each class takes half a second.
    kind.__module__ = ""
    return kind


def _as_flags(settings: type[BaseModel], groups: Mapping[str, Group]) -> Any:
    """The settings of a class, each with its help and group."""
    fields: dict[str, Any] = {}
    for name, field in settings.model_fields.items():
        parameter = Parameter(group=groups[name]) if name in groups else Parameter()
        if (section := section_of(field.annotation)) is not None:
            fields[name] = Annotated[_as_flags(section, {}), AS_GIVEN, Parameter.combine(TEXT, parameter)]
            continue
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        shown = Parameter(help=flag_help(field), show_default=False if default is None else str(default))
        fields[name] = Annotated[field.annotation, AS_GIVEN, Parameter.combine(TEXT, shown, parameter)]
    return _typed_dict(fields)


def _run_flags() -> Any:
    """All settings of a run; the game's parameters are one text, and the presets are each explained."""
    kind = _as_flags(RunSettings, GROUPS)
    parameters, preset = (RunSettings.model_fields[name] for name in ("parameters", "preset"))
    presets = " ".join(f"`{name}`: {text}" for name, text in PRESET_HELP.items())
    own: dict[str, tuple[Any, str]] = {
        "parameters": (str, flag_help(parameters)),
        "preset": (preset.annotation, f"{flag_help(preset)} {presets}"),
    }
    shapes: dict[str, Any] = {}
    for name, (shape, text) in own.items():
        shown = Parameter(group=GROUPS[name], help=text, show_default=False)
        shapes[name] = Annotated[shape, AS_GIVEN, Parameter.combine(TEXT, shown)]
    return _typed_dict(kind.__annotations__ | shapes)


RunFlags = Annotated[_run_flags(), Parameter(name="*", negative_iterable=())]
"""A parameter that takes every setting as a flag; nested texts arrive, not checked yet."""
ServerFlags = Annotated[
    _typed_dict(
        {
            name: Annotated[
                ServerSettings.model_fields[name].annotation,
                AS_GIVEN,
                Parameter.combine(TEXT, Parameter(help=server_help(name))),
            ]
            for name in SERVED_FLAGS
        }
    ),
    Parameter(name="*", negative=(), negative_iterable=(), group=SERVER),
]
"""A parameter that takes the flags of `SERVED_FLAGS`, as `RunFlags` does."""
NO_FLAGS: Final[Mapping[str, Any]] = {}
"""Default of both."""
Alias = Annotated[str | None, Parameter(group=RUN, converter=_as_text)]
"""A parameter that gives a setting by a shorter name, as a text that is not checked yet."""


def run_settings(
    game: str,
    server: ServerSettings,
    options: object,
    given: Mapping[str, Any],
    *,
    resumed: str | None = None,
) -> "LayeredSettings":
    """Settings of a run from its game or itself, a file, variables, flags and short flags, later ones above.

    Args:
        game: bundled name or path; its own settings are the lowest layer of a new run.
        server: where runs and games are.
        options: of the command: `config`, a YAML file or none, and `attract.settings.given.ALIASES`.
        given: what the parameter of all settings got.
        resumed: id of the run whose settings are the lowest layer, or `latest`; None: a new run.

    Raises: ConfigurationError: no such game or run, or invalid values; names each setting as it was written.
    """
    from attract.games.library import GameLibrary
    from attract.run.settings_view import settings_beneath, settings_resumed
    from attract.settings.given import (
        ALIASES,
        from_aliases,
        from_file,
        from_flags,
        from_variables,
        join_layers,
    )

    own = vars(options)
    return join_layers(
        settings_beneath(GameLibrary(server.project_dir, server.web_dir), game)
        if resumed is None
        else settings_resumed(server.runs_dir, resumed),
        from_file(own["config"]),
        from_variables(os.environ),
        from_flags(given),
        from_aliases(**{name: own[name] for name in ALIASES if name in own}),
    )


def playable_game(game: str, server: ServerSettings) -> tuple[str, ServerSettings]:
    """As `served_game`; a page is played by its adapter, which is written where there is none yet."""
    from attract.games.page_places import names_page

    if names_page(game, server.web_dir):
        from attract.commands.probe import adapter_of
        from attract.server.app_server import run_async

        game = str(run_async(adapter_of(game, server)))
    return served_game(game, server)
