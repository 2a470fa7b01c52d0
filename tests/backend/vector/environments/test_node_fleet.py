from pathlib import Path

import pytest

from attract.errors import ConfigurationError, GameError
from attract.games.library import GameLibrary
from attract.schema.game_messages import GameFailed, MethodSource
from attract.vector.environments.node_fleet import NodeFleet, find_node

GAME = """import { box, defineGame, discrete } from "attract";
const canvas = document.createElement("canvas");
export default defineGame({
  id: "Page-v1", tickSeconds: 1, observation: box({ shape: [1] }), action: discrete(2),
  create: () => ({ start: () => [canvas.width], update: () => ({ reward: 0 / 0 }) }),
});
"""


async def test_a_game_that_does_not_load_is_told_in_its_own_places(tmp_path: Path) -> None:
    (tmp_path / "page.ts").write_text(GAME)
    module = await GameLibrary(tmp_path).resolve("page.ts")
    fleet = NodeFleet(module, 1, run_id="r")
    try:
        with pytest.raises(GameError) as caught:
            fleet.describe()
        assert caught.value.name == "ReferenceError"
        assert caught.value.text.startswith(
            "document is not defined; games run in a web worker, without a page"
        )
        assert "page.ts:2:16" in (caught.value.stack or "")
        method = MethodSource(name="update", text="() => ({ reward: 0 / 0 })", field="reward")
        report = GameFailed(
            run_id="r",
            kind="nan",
            name="GameError",
            text="t",
            stack=None,
            method=method,
            step_values="action 1",
        )
        error = fleet.game_error(report)
        assert error.text == "t; action 1"
        assert error.stack is not None
        assert "page.ts:5:" in error.stack
    finally:
        fleet.close()


def test_a_node_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v16.20.2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"(?s)node v16.20.2 at .*Node 20 or newer"):
        find_node()
    old.write_text("#!/bin/sh\necho v20.1.0\n")
    # Asked once: it is known by its path.
    with pytest.raises(ConfigurationError, match="v16"):
        find_node()
