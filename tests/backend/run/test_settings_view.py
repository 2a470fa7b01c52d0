"""Settings as pages see them, resolved for a game."""

from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.run.resolved_settings import ResolvedSettings, resolve_settings
from attract.run.settings_view import settings_form, settings_of, settings_view
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace
from attract.settings.ppo import PpoSettings
from attract.settings.run import RunSettings
from attract.settings.schema import setting_paths
from socket_fleet import DESCRIPTION

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


PICTURE = DESCRIPTION.model_copy(update={"observation": BoxSpace(shape=[36, 36, 1], dtype="uint8")})


def resolve(description: GameDescription | None = DESCRIPTION, **settings: Any) -> ResolvedSettings:
    return resolve_settings(RunSettings.from_mapping(settings), "small.ts", description)


def test_gae_lambda_follows_from_what_the_game_shows_and_who_plays():
    assert resolve().values["ppo.gae_lambda"] == 0.95
    assert resolve(PICTURE).values["ppo.gae_lambda"] == 0.9
    two = DESCRIPTION.model_copy(update={"num_agents": 2})
    assert "0.95, or 0.99" in resolve(two).undecided["ppo.gae_lambda"]
    # Each policy learns from one agent: it has no opponent in its own rewards.
    assert resolve(two, collection={"seats": ["a", "b"]}).values["ppo.gae_lambda"] == 0.95
    given = resolve(two, ppo={"gae_lambda": 0.5})
    assert "ppo.gae_lambda" not in {**given.values, **given.undecided}


def test_of_the_two_ways_to_cut_a_batch_one_follows_from_the_other():
    # 1 worker x 8 games x 32 steps are 256.
    fleet = {"num_workers": 1, "instances_per_worker": 8}
    usual = resolve(collection=fleet).values
    assert (usual["ppo.minibatch_steps"], usual["ppo.num_minibatches"]) == (256, 1)
    counted = resolve(collection=fleet, ppo={"num_minibatches": 8}).values
    assert counted["ppo.minibatch_steps"] == 32
    assert "ppo.num_minibatches" not in counted
    sized = resolve(collection=fleet, ppo={"minibatch_steps": 100}).values
    assert sized["ppo.num_minibatches"] == 3


def test_shares_of_several_policies_are_told_by_name():
    three = DESCRIPTION.model_copy(update={"num_agents": 3})
    fleet = {"num_workers": 1, "instances_per_worker": 8, "seats": ["a", "a", "b"]}
    # 768 steps: 512 of a, 256 of b.
    assert resolve(three, collection=fleet).undecided["ppo.num_minibatches"] == "2 for a, 1 for b."


def test_a_value_that_another_setting_overrules_is_told():
    still = {"ppo": {"normalize_observations": False}}
    assert resolve(**still).values["collection.warmup_steps"] == 0
    assert "collection.warmup_steps" not in resolve().values
    in_turn = {"collection": {"schedule": "sync", "max_policy_lag": 3}}
    assert resolve(**in_turn).values["collection.max_policy_lag"] == 0


def test_nothing_is_claimed_of_a_game_that_nobody_has_loaded():
    resolved = resolve(None)
    assert resolved.undecided["ppo.gae_lambda"].startswith("Depends on the game")
    assert "ppo.gae_lambda" not in resolved.values
    assert resolved.values["ppo.schedule_steps"] == 1_000_000


def test_settings_that_the_game_cannot_be_played_with_are_refused():
    in_page = DESCRIPTION.model_copy(update={"page": "index.html"})
    with pytest.raises(ConfigurationError, match="page"):
        resolve(in_page, collection={"inference": "server"})


def test_what_the_learners_machine_decides_is_said_to_be_decided_there():
    assert set(resolve().undecided) == {"device", "learner", "learner_threads"}
    fixed = resolve(device="cpu", learner="autograd", learner_threads=2)
    assert fixed.undecided == {}
    assert resolve(policy={"recurrent": "lstm"}).values["learner"] == "autograd"
