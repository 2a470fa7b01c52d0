"""Who plays: the crowd, orders of play, and policies."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from attract.errors import ConfigurationError
from attract.playtest.plan import DRILL_SECONDS, MIN_DRILL_SECONDS, ORDER_SECONDS, Orders, Plan, Played
from attract.playtest.players import (
    crowd,
    exported_policy,
    hashes,
    held_actions,
    is_exported,
    run_policies,
    younger,
)
from attract.runs.directory import RunDirectory
from attract.schema.base import Seed
from attract.schema.playtest import (
    MAX_ORDER_SECONDS,
    GamePlaytested,
    PlayerName,
    PlaytestDrill,
    PlaytestGame,
    PlaytestPlays,
    PlaytestPolicy,
)
from attract.schema.spaces import ActionSpace, DiscreteSpace
from attract.settings.run import RunSettings
from fake_worker import counting_game
from policies import describe
from recorded_episodes import recorded

GOLDEN = Path(__file__).parents[2] / "contract" / "golden" / "held_actions.json"


@pytest.mark.parametrize("entry", json.loads(GOLDEN.read_text()), ids=lambda entry: str(entry["space"]))
def test_there_are_as_many_held_actions_as_the_browser_has(entry: dict[str, Any]) -> None:
    space: ActionSpace = TypeAdapter(ActionSpace).validate_python(entry["space"])
    assert held_actions(space) == entry["count"]


def test_the_crowd_without_policies_and_with_them() -> None:
    game = describe(action=DiscreteSpace(n=2))
    assert crowd(game, [], 0) == ["random", "idle", "sticky", "novelty", "hold-0", "hold-1"]
    names = crowd(game, ["trained", "younger-1", "younger-2"], 2)
    # A short budget reaches the first alone.
    assert names[4:] == [
        "trained:greedy",
        "trained:sampled",
        "trained:clumsy",
        "trained:excursions",
        "younger-1:greedy",
        "younger-2:greedy",
        "recorded-0",
        "recorded-1",
        "hold-0",
        "hold-1",
    ]
    for name in names:
        TypeAdapter(PlayerName).validate_python(name)


POLICIES = [PlaytestPolicy(name=name, document="{}", model=b"") for name in ("trained", "younger-1")]
GREEDY = PlaytestPlays(player="trained:greedy", first=3, count=2)


class Host:
    """Keeps what it is asked for, and plays nothing."""

    def __init__(self, left_out: list[str]) -> None:
        self.left_out = left_out
        self.asked: list[PlaytestGame] = []

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        self.asked.append(order)
        return GamePlaytested(playtest_id=0, episodes=[], left_out=self.left_out, seconds=0.0)


def orders(seconds: float, fresh_every: int = 0, left_out: list[str] | None = None) -> tuple[Orders, Host]:
    plan = Plan(
        game=counting_game(),
        players=["idle", "trained:greedy"],
        seed=Seed(low=7, high=0),
        policies=POLICIES,
        recorded=[recorded()],
        max_steps=30,
        seconds=seconds,
    )
    host = Host(left_out or [])
    return Orders(plan, host, Played(fresh_every=fresh_every)), host


def test_an_order_has_the_terms_of_its_plan_and_the_policies_that_it_needs() -> None:
    given, host = orders(100.0, fresh_every=2)
    asyncio.run(given.give([GREEDY], record=True))
    asyncio.run(given.give(drills=[PlaytestDrill(kind="slow")], episodes=[], is_fresh=True, seconds=3.0))
    play, drill = host.asked
    assert (play.seed.low, play.max_steps, play.plays, play.record) == (7, 30, [GREEDY], True)
    assert ([policy.name for policy in play.policies], play.episodes) == (["trained"], [recorded()])
    assert (play.fresh_every, play.budget_seconds) == (2, ORDER_SECONDS)
    assert (drill.policies, drill.episodes, drill.plays, drill.record) == ([], [], [], False)
    assert (drill.fresh_every, drill.budget_seconds) == (1, 3.0)


def test_no_order_lasts_longer_than_the_wire_allows() -> None:
    given, host = orders(3600.0)
    assert given.replay_seconds == pytest.approx(3600, abs=30)
    asyncio.run(given.give([GREEDY], seconds=given.replay_seconds))
    assert host.asked[0].budget_seconds == MAX_ORDER_SECONDS == 600


def test_a_share_of_the_time_is_left_and_for_replays_always_some() -> None:
    given, _ = orders(1000.0)
    assert given.left(0.5) == pytest.approx(500, abs=30) and given.has_time(0.5)
    assert (given.drill_seconds, orders(40.0)[0].drill_seconds) == (DRILL_SECONDS, pytest.approx(6))
    spent, _ = orders(0.0)
    assert spent.left() <= 0 and not spent.has_time()
    assert (spent.drill_seconds, spent.replay_seconds) == (MIN_DRILL_SECONDS, ORDER_SECONDS)


def test_a_player_of_another_game_is_refused() -> None:
    given, _ = orders(100.0, left_out=["the player trained cannot play: 3 actions"])
    with pytest.raises(ConfigurationError, match="3 actions"):
        asyncio.run(given.give([GREEDY]))


TRAINED = Path(__file__).parents[3] / "web" / "page-games" / "meteors" / "trained"


def test_an_export_has_one_policy_with_its_document_and_model() -> None:
    (policy,) = exported_policy(TRAINED)
    assert policy.name == "trained"
    assert json.loads(policy.document)["game"]["id"] == "Meteors-v1"
    assert policy.model == (TRAINED / "policy.onnx").read_bytes()
    assert set(hashes([policy])) == {"trained"}


def test_the_parts_of_a_split_model_are_joined(tmp_path: Path) -> None:
    shutil.copy(TRAINED / "policy.json", tmp_path)
    model = (TRAINED / "policy.onnx").read_bytes()
    document = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**document, "parts": {"policy.onnx": 2}}))
    (tmp_path / "policy.onnx.1").write_bytes(model[:1000])
    (tmp_path / "policy.onnx.2").write_bytes(model[1000:])
    (policy,) = exported_policy(tmp_path)
    assert policy.model == model


def test_several_policies_are_refused(tmp_path: Path) -> None:
    document = json.loads((TRAINED / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**document, "policies": {"red": {}, "blue": {}}}))
    assert is_exported(str(tmp_path))
    with pytest.raises(ConfigurationError, match="several policies"):
        exported_policy(tmp_path)


class KnownModels:
    """As `RunModels`: a masked game's document, and models that name their version."""

    def document(self, run_id: str) -> bytes:
        inputs = {"obs": {"key": "obs"}, "action_mask": {}}
        return json.dumps({"policy_version": 12, "inputs": inputs, "game": {"action_mask": True}}).encode()

    async def model(self, run_id: str, version: int) -> bytes:
        return b"onnx %d" % version


async def test_a_run_has_its_best_version_and_two_younger_ones_without_masks_in_their_graphs(
    tmp_path: Path,
) -> None:
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("counting", RunSettings.from_mapping({}).model_dump(mode="json"))
    for version in (0, 3, 6, 9, 12):
        (directory.checkpoints / str(version)).mkdir(parents=True)
    directory.mark("best", 9)
    directory.close()
    policies = await run_policies(KnownModels(), "a", tmp_path)  # type: ignore[arg-type]
    assert [(policy.name, policy.model) for policy in policies] == [
        ("trained", b"onnx 9"),
        ("younger-1", b"onnx 3"),
        ("younger-2", b"onnx 6"),
    ]
    documents = [json.loads(policy.document) for policy in policies]
    assert [document["policy_version"] for document in documents] == [9, 3, 6]
    # The game masks; a model that was made of a checkpoint has no input for it.
    assert all(document["inputs"] == {"obs": {"key": "obs"}} for document in documents)
    assert all(document["game"]["action_mask"] for document in documents)


@pytest.mark.parametrize(
    ("versions", "best", "expected"),
    [
        (list(range(31)), 30, [10, 20]),
        ([0, 5, 30, 40], 30, [5]),
        ([0, 30], 30, []),
        ([0, 1, 2, 29, 30], 30, [2, 29]),
    ],
)
def test_younger_versions_lie_at_thirds_of_the_way_to_the_best(
    versions: list[int], best: int, expected: list[int]
) -> None:
    assert younger(versions, best) == expected
