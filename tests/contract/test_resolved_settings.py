"""What the start form reads for every bundled game and preset is what a run of it resolves to."""

from collections.abc import Callable
from typing import Any

import pytest

from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.learner.registry import choose_algorithm
from attract.policy.dense import ReluLayer
from attract.policy.network import build_policy
from attract.run.plan import collection_config
from attract.run.settings_view import settings_form, settings_of, settings_view
from attract.schema.game import GameDescription, GameReference
from attract.settings.presets import PRESETS
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings
from attract.settings.schema import setting_paths
from node_driver import REPOSITORY, bundle_driver

FORM = settings_form()
GAMES = GameLibrary(PACKAGE_DIR)
NAMES = GAMES.bundled_names()
NOTHING = {
    "total_steps",
    "until_return",
    "until_win_rate",
    "self_play.against",
    "preset",
    "federated",
    "ppo.clip_range_vf",
    "ppo.max_grad_norm",
    "ppo.target_kl",
    "ppo.advantage_scale_decay",
    "dqn.save_buffer_minutes",
    "sac.save_buffer_minutes",
    "cloning.demonstrations",
    "callbacks.evaluation",
    "callbacks.checkpoint",
}
"""Settings of which an empty one means that there is none; every other empty one stands for a value."""
LATER = {"device", "learner", "learner_threads"}
"""What the learner's machine decides once the run has begun."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Any]:
    sdk = REPOSITORY / "web/sdk/src"
    aliases = {"attract/description": sdk / "description.ts", "attract": sdk / "index.ts"}
    return bundle_driver("resolved-settings-driver.ts", tmp_path_factory.mktemp("resolved"), aliases=aliases)


@pytest.fixture(scope="module")
def descriptions(driver: Callable[[Any], Any]) -> dict[str, GameDescription]:
    web = PACKAGE_DIR / "web"
    plain = {path.stem: path for path in (web / "games").glob("*.js")}
    modules = [plain.get(name, web / "page-games" / name / "game.page.js") for name in NAMES]
    found = driver({"modules": [str(path) for path in modules]})
    return {
        name: GameDescription.model_validate(description)
        for name, description in zip(NAMES, found, strict=True)
    }


def used_by(settings: RunSettings, game: str, description: GameDescription) -> dict[str, Any]:
    """What the parts of a run that use an automatic setting make of it."""
    ppo = settings.ppo
    reference = GameReference(name=game, sha256="a" * 64, url=f"games/{game}.js")
    config = collection_config(settings, "run", reference).fitted(description)
    policy = build_policy(settings.policy, description, num_bins=choose_algorithm(settings).num_bins)
    log_std = policy.action_log_std
    (segments,) = config.batch_targets.values()
    common = {
        "collection.instances_per_worker": config.num_instances,
        "collection.max_workers": config.row_workers,
        "collection.seats": ", ".join(["main"] * description.num_agents),
        "self_play.save_steps": config.save_steps,
        "self_play.seats": ", ".join(["newest"] * description.num_agents),
        "collection.desync_steps": config.desync_limit,
        "collection.warmup_steps": config.settings.warmup_steps,
        "collection.max_policy_lag": config.settings.policy_lag,
        "policy.activation": "relu" if any(isinstance(one, ReluLayer) for one in policy.trunk) else "tanh",
        "policy.log_std_init": 0.5 if log_std is None else float(log_std.detach()[0]),
        "policy.shared_trunk": policy.value_trunk is None,
        f"{settings.algorithm}.batch_segments": segments,
        f"{settings.algorithm}.schedule_steps": settings.schedule_steps,
    }
    if settings.algorithm != "ppo":
        return common
    unit = ppo.unit_for(is_recurrent=policy.state_size > 0)
    units = segments if unit == "segment" else segments * ppo.horizon
    parts = min(ppo.minibatches_for(segments * ppo.horizon), units)
    most = -(-units // parts) * (ppo.horizon if unit == "segment" else 1)
    return {
        **common,
        "ppo.rollout_steps": config.rollout_segments * config.horizon,
        "ppo.num_minibatches": parts,
        "ppo.minibatch_steps": most if ppo.num_minibatches is not None else ppo.minibatch_steps or 256,
        "ppo.minibatch_unit": unit,
        "ppo.gae_lambda": ppo.lambda_for(sees_pictures=bool(policy.encoders)),
        "ppo.lag_correction": settings.hyperparameters.model_dump()["lag_correction"],
    }


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_every_empty_setting_stands_for_a_value_or_for_nothing(descriptions: dict[str, GameDescription]):
    empty = {
        path
        for path, schema in setting_paths(FORM.json_schema)
        if any(kind.get("type") == "null" for kind in schema.get("anyOf", []))
        and not path.startswith(tuple(f"{name}." for name in ALGORITHM_SETTINGS if name != "ppo"))
    }
    used = used_by(RunSettings(), "small", descriptions["cartpole"])
    overruled = {"collection.seats", "self_play.seats", "collection.warmup_steps", "policy.shared_trunk"}
    assert empty - NOTHING == set(used) - overruled


@pytest.mark.parametrize("game", NAMES)
def test_each_field_reads_what_the_run_resolves_to(
    driver: Callable[[Any], Any], descriptions: dict[str, GameDescription], game: str
):
    description = descriptions[game]
    views = {preset: settings_view(GAMES, game, {"preset": preset}, description) for preset in PRESETS}
    refused = {preset for preset, view in views.items() if view.problems}
    # It recommends a recurrent policy.
    assert refused == ({"slow-page"} if game == "memory" else set())
    views = {preset: view for preset, view in views.items() if preset not in refused}
    made = driver(
        {
            "form": FORM.model_dump(mode="json"),
            "views": [view.model_dump(mode="json") for view in views.values()],
        }
    )
    for preset, fields in zip(views, made, strict=True):
        used = used_by(settings_of(GAMES, game, {"preset": preset}).run, game, description)
        for path, read in fields.items():
            where = f"{game}, {preset}, {path}: {read}"
            if path in LATER:
                assert read["note"], where
            elif path == "ppo.gae_lambda" and read["text"] == "" and description.num_agents > 1:
                assert (read["empty"], read["note"][:16]) == ("automatic", "0.95, or 0.99 as"), where
            elif read["text"] == "":
                expected = "none" if path in NOTHING else f"{shown(used[path])} (automatic)"
                assert (read["empty"], read["note"]) == (expected, None), where
            elif path in used and shown(used[path]) != read["text"]:
                assert read["note"] == f"The run uses {shown(used[path])}.", where
            else:
                assert read["note"] is None, where


@pytest.mark.parametrize("algorithm", ALGORITHM_SETTINGS)
def test_the_form_has_the_section_of_the_algorithm_that_is_chosen(
    driver: Callable[[Any], Any], descriptions: dict[str, GameDescription], algorithm: str
):
    view = settings_view(GAMES, "cartpole", {"algorithm": algorithm}, descriptions["cartpole"])
    form, views = FORM.model_dump(mode="json"), [view.model_dump(mode="json")]
    (fields,) = driver({"form": form, "views": views})
    named = {path.split(".")[0] for path in fields}
    assert named & ALGORITHM_SETTINGS.keys() == {algorithm}
    own = {path: read for path, read in fields.items() if path.startswith(f"{algorithm}.")}
    empty = {path: read["empty"] for path, read in own.items() if read["text"] == ""}
    assert empty[f"{algorithm}.batch_segments"].endswith("(automatic)")
    nothing = {path for path in empty if {path, path.replace(algorithm, "ppo")} & NOTHING}
    assert all(said == "none" if path in nothing else "(automatic)" in said for path, said in empty.items())
