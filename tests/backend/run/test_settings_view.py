"""What a form shows is what a run of the game uses, and what it is told is what is wrong."""

from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.run.settings_view import settings_form, settings_of, settings_view
from attract.settings.ppo import PpoSettings
from attract.settings.schema import setting_paths

GAMMA, CLIP = 0.123, 0.321
"""What no default is."""


@pytest.fixture
def games(tmp_path: Path) -> GameLibrary:
    folder = tmp_path / "web" / "games"
    folder.mkdir(parents=True)
    (folder / "plain.js").write_text("export default 1;\n")
    (folder / "tuned.js").write_text("export default 1;\n")
    (folder / "tuned.train.yaml").write_text(f"ppo: {{gamma: {GAMMA}}}\ncollection: {{schedule: sync}}\n")
    return GameLibrary(tmp_path, tmp_path / "web")


def test_a_games_own_settings_are_shown_as_they_will_run(games: GameLibrary):
    view = settings_view(games, "tuned", {})
    assert view.own == view.effective == settings_of(games, "tuned", {}).run.model_dump(mode="json")
    assert (view.own["ppo"]["gamma"], view.own["collection"]["schedule"]) == (GAMMA, "sync")
    assert view.own["ppo"]["clip_range"] == PpoSettings().clip_range
    assert settings_view(games, "plain", {}).own["ppo"]["gamma"] == PpoSettings().gamma


def test_a_games_own_value_is_overruled_by_a_default_that_was_chosen(games: GameLibrary):
    usual = PpoSettings().gamma
    view = settings_view(games, "tuned", {"ppo": {"gamma": usual}})
    assert view.effective is not None
    assert (view.own["ppo"]["gamma"], view.effective["ppo"]["gamma"]) == (GAMMA, usual)


@pytest.mark.parametrize("preset", [preset.name for preset in settings_form().presets])
def test_a_preset_that_is_chosen_changes_what_is_shown(games: GameLibrary, preset: str):
    view = settings_view(games, "tuned", {"preset": preset, "ppo": {"clip_range": CLIP}})
    assert view.effective is not None
    assert (view.effective["preset"], view.effective["ppo"]["clip_range"]) == (preset, CLIP)
    expected = settings_of(games, "tuned", {"preset": preset}).run.ppo.gamma
    assert view.effective["ppo"]["gamma"] == expected


def test_what_cannot_work_is_told_setting_by_setting(games: GameLibrary):
    view = settings_view(games, "tuned", {"ppo": {"learning_rate": 0, "gamma": 2}})
    assert view.effective is None
    assert view.own["ppo"]["gamma"] == GAMMA
    assert [problem.setting for problem in view.problems] == ["ppo.learning_rate", "ppo.gamma"]
    assert all(problem.error for problem in view.problems)


def test_an_unknown_setting_is_told_with_the_nearest_name(games: GameLibrary):
    (problem,) = settings_view(games, "plain", {"ppo": {"gama": 0.9}}).problems
    assert problem.setting == "ppo.gama"
    assert "'gamma'" in problem.error


def test_an_unknown_game_is_refused(games: GameLibrary):
    with pytest.raises(ConfigurationError, match="tuned"):
        settings_view(games, "tund", {})


def test_the_form_shows_settings_and_presets_that_exist():
    form = settings_form()
    paths = dict(setting_paths(form.json_schema))
    assert set(form.common) <= set(paths)
    (choices,) = (path["enum"] for path in paths["preset"]["anyOf"] if "enum" in path)
    assert [preset.name for preset in form.presets] == choices
    assert all(preset.help.endswith(".") for preset in form.presets)
