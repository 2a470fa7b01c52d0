import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from attract.playtest.players import crowd, held_actions
from attract.schema.playtest import PlayerName
from attract.schema.spaces import ActionSpace, DiscreteSpace
from policies import describe

GOLDEN = Path(__file__).parents[2] / "contract" / "golden" / "held_actions.json"


@pytest.mark.parametrize("entry", json.loads(GOLDEN.read_text()), ids=lambda entry: str(entry["space"]))
def test_there_are_as_many_held_actions_as_the_browser_has(entry: dict[str, Any]) -> None:
    space: ActionSpace = TypeAdapter(ActionSpace).validate_python(entry["space"])
    assert held_actions(space) == entry["count"]


def test_the_crowd_without_policies_and_with_them() -> None:
    game = describe(action=DiscreteSpace(n=2))
    assert crowd(game, [], 0) == ["idle", "random", "sticky", "novelty", "hold-0", "hold-1"]
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
