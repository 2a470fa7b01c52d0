"""The start form, made from the server's schema, offers every setting and sends back what it showed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.run.settings_view import settings_form, settings_of
from attract.schema.api import SettingsForm
from attract.settings.run import RunSettings
from attract.settings.schema import setting_paths
from node_driver import bundle_driver

FORM: SettingsForm = settings_form()
PATHS = [path for path, _ in setting_paths(FORM.json_schema) if path != "preset"]
"""A preset is chosen beside the fields, because it changes what they show."""
RICH: dict[str, Any] = {
    "until_return": -5.5,
    "parameters": {"size": {"uniform": [1, 2.5]}},
    "policy": {"hidden_sizes": [128, 64]},
    "collection": {"seats": ["scout", "keeper"], "schedule": "async"},
    "curriculum": {
        "lessons": [
            {"name": "a", "until": {"metric": "rollout/ep_rew_mean", "at_least": 1}},
            {"name": "b", "parameters": {"size": 3}},
        ]
    },
    "callbacks": {"evaluation": {"every_steps": 1000}},
}


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    driver = bundle_driver("settings-form-driver.ts", tmp_path_factory.mktemp("form"))

    def fill_in(settings: RunSettings, typed: dict[str, str] | None = None) -> Any:
        shown = settings.model_dump(mode="json")
        return driver({"form": FORM.model_dump(mode="json"), "settings": shown, "typed": typed or {}})

    return fill_in


def test_every_setting_has_a_field_and_stands_in_one_place(fill: Callable[..., Any]):
    made = fill(RunSettings())
    assert sorted(made["paths"]) == sorted(PATHS)
    assert made["common"] == FORM.common
    assert sorted([*made["common"], *made["inSections"]]) == sorted(PATHS)


@pytest.mark.parametrize("game", ["defaults", "rich", *GameLibrary(Path.cwd()).bundled_names()])
def test_what_is_shown_is_right_and_sent_back_as_it_was(fill: Callable[..., Any], game: str):
    own = {"defaults": RunSettings(), "rich": RunSettings.from_mapping(RICH)}
    settings = own.get(game) or settings_of(GameLibrary(PACKAGE_DIR), game, {}).run
    made = fill(settings)
    preset = {} if settings.preset is None else {"preset": settings.preset}
    assert RunSettings.from_mapping({**made["sent"], **preset}) == settings


def test_what_cannot_be_used_is_refused_at_its_field(fill: Callable[..., Any]):
    typed = {
        "ppo.learning_rate": "0",
        "ppo.gamma": "1.01",
        "collection.num_workers": "2.5",
        "collection.seats": "scout,,keeper",
        "policy.hidden_sizes": "64, x",
        "parameters": "{size: 1}",
        "seed": "",
        "until_return": "",
    }
    with pytest.raises(ConfigurationError) as refused:
        RunSettings.from_mapping(fill(RunSettings(), typed)["sent"])
    assert {setting for setting, _ in refused.value.problems} == {
        "ppo.learning_rate",
        "ppo.gamma",
        "collection.num_workers",
        "collection.seats.1",
        "policy.hidden_sizes.1",
        "parameters",
        "seed",
    }
