"""An evaluation's episodes played beside a game's page: at random, or by an exported policy."""

import base64
import json
from pathlib import Path
from typing import Any

from attract.games.library import GameLibrary
from attract.schema.philox import derive_seed
from attract.settings.run import EvaluationSettings
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin


def read_policy(folder: Path) -> dict[str, Any]:
    """An exported policy as trials take it: `policy.json`, and the model in base64."""
    model = (folder / "policy.onnx").read_bytes()
    document = json.loads((folder / "policy.json").read_text(encoding="utf-8"))
    return {"document": document, "model": base64.b64encode(model).decode()}


def played_returns(game: str, episodes: int, policy: Path | None = None) -> list[float]:
    """Returns of the first episodes of an evaluation with the default seed, each in a fresh page.

    Args:
        game: bundled name or path of a game that lives in a page, of one agent.
        policy: folder of an exported policy, whose likeliest actions are played; None: random play.

    Raises: ConfigurationError: when the web side is not built, or the game lives in no page.
    """
    files = None if policy is None else read_policy(policy)
    seed = derive_seed(EvaluationSettings().seed, "evaluation")

    async def ask(origin: GameOrigin) -> list[float]:
        return await origin.ask("returns", episodes, {"low": seed.low, "high": seed.high}, files)

    return at_origin(game, GameLibrary(Path.cwd()), ask)
