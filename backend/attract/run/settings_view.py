"""Settings that a run would have: for forms, and for starting it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.run.resolved_settings import ResolvedSettings, resolve_settings
from attract.runs.directory import RunDirectory, find_run
from attract.runs.plain_text import shortened
from attract.schema.api import PresetView, SettingProblem, SettingsForm, SettingsView
from attract.schema.game import GameDescription
from attract.settings.given import ALIASES, Layer, LayeredSettings, from_values, join_layers
from attract.settings.presets import PRESET_HELP, PRESETS
from attract.settings.run import RunSettings
from attract.settings.schema import COMMON, run_settings_schema


def settings_form() -> SettingsForm:
    """What can be set of a run."""
    presets = [PresetView(name=name, help=PRESET_HELP[name]) for name in PRESETS]
    return SettingsForm(
        json_schema=run_settings_schema(),
        common=list(COMMON),
        short_flags={name: ".".join(map(str, path)) for name, path in ALIASES.items()},
        presets=presets,
    )


def settings_beneath(games: GameLibrary, game: str) -> Layer:
    """The layer below the settings given for a new run: those that the game comes with.

    Raises: ConfigurationError: no such game.
    """
    return from_values(games.recommended(game), f"{Path(game).stem}.train.yaml")


def settings_resumed(runs_dir: Path, run_id: str) -> Layer:
    """The layer below the settings given for a run that goes on: its own.

    Args:
        runs_dir: where it is.
        run_id: of the run, or `latest`.

    Raises: ConfigurationError: no such run, or its file is damaged.
    """
    run_id = find_run(runs_dir, run_id)
    directory = RunDirectory.view(runs_dir, run_id)
    directory.read_settings()
    return from_values(directory.read_config()["settings"], f"the settings of run {run_id}")


def settings_of(games: GameLibrary, game: str, given: Mapping[str, Any]) -> LayeredSettings:
    """What a new run of `game` uses: `given` on top of what the game comes with, defaults beneath both.

    Raises: ConfigurationError: no such game, or settings that cannot work.
    """
    return join_layers(settings_beneath(games, game), Layer(given))


def settings_view(
    games: GameLibrary, game: str, given: Mapping[str, Any], description: GameDescription | None = None
) -> SettingsView:
    """What a new run of `game` would use with `given`, or why it cannot.

    Args:
        description: what the game says of itself, for settings that depend on it; None: not known.

    Raises: ConfigurationError: no such game, or one whose own settings cannot work.
    """
    own = settings_of(games, game, {}).run
    try:
        chosen = settings_of(games, game, given).run
        resolved = resolve_settings(chosen, game, description)
    except ConfigurationError as error:
        return _settings_view(own, None, resolve_settings(own, game, None), setting_problems(error))
    return _settings_view(own, chosen, resolved, [])


def _settings_view(
    own: RunSettings,
    effective: RunSettings | None,
    resolved: ResolvedSettings,
    problems: list[SettingProblem],
) -> SettingsView:
    return SettingsView(
        own=own.model_dump(mode="json"),
        effective=None if effective is None else effective.model_dump(mode="json"),
        resolved=dict(resolved.values),
        undecided=dict(resolved.undecided),
        problems=problems,
    )


def setting_problems(error: ConfigurationError) -> list[SettingProblem]:
    """What was refused, setting by setting; empty for an error of something else."""
    found = error.problems or (() if error.setting is None else ((error.setting, error.problem),))
    fix = f"; {error.fix}" if error.fix and not error.problems else ""
    return [
        SettingProblem(setting=shortened(setting), error=shortened(f"{text}{fix}")) for setting, text in found
    ]
