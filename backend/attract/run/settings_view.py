"""Settings that a new run would have: for forms, and for starting it."""

from collections.abc import Mapping
from typing import Any

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.runs.plain_text import shortened
from attract.schema.api import PresetView, SettingProblem, SettingsForm, SettingsView
from attract.settings.presets import PRESET_HELP, PRESETS, layer_settings
from attract.settings.run import RunSettings
from attract.settings.schema import COMMON, run_settings_schema


def settings_form() -> SettingsForm:
    """What can be set of a run."""
    presets = [PresetView(name=name, help=PRESET_HELP[name]) for name in PRESETS]
    return SettingsForm(json_schema=run_settings_schema(), common=list(COMMON), presets=presets)


def settings_of(games: GameLibrary, game: str, given: Mapping[str, Any]) -> RunSettings:
    """What a new run of `game` uses: `given` on top of what the game comes with, defaults beneath both.

    Raises: ConfigurationError: no such game, or settings that cannot work.
    """
    return RunSettings.from_mapping(layer_settings(games.recommended(game), given))


def settings_view(games: GameLibrary, game: str, given: Mapping[str, Any]) -> SettingsView:
    """What a new run of `game` would use with `given`, or why it cannot.

    Raises: ConfigurationError: no such game, or one whose own settings cannot work.
    """
    own = settings_of(games, game, {}).model_dump(mode="json")
    try:
        effective = settings_of(games, game, given).model_dump(mode="json")
    except ConfigurationError as error:
        return SettingsView(own=own, effective=None, problems=setting_problems(error))
    return SettingsView(own=own, effective=effective, problems=[])


def setting_problems(error: ConfigurationError) -> list[SettingProblem]:
    """What was refused, setting by setting; empty for an error of something else."""
    found = error.problems or (() if error.setting is None else ((error.setting, error.problem),))
    fix = f"; {error.fix}" if error.fix and not error.problems else ""
    return [
        SettingProblem(setting=shortened(setting), error=shortened(f"{text}{fix}")) for setting, text in found
    ]
