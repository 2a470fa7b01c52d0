"""Who plays a build: the crowd without training, and policies of a run or of an export."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attract.errors import ConfigurationError
from attract.files import MAX_JSON_BYTES, parse_object, read_file
from attract.run.models import RunModels
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import DOCUMENT_FILE, model_file
from attract.schema.game import GameDescription
from attract.schema.playtest import PlaytestPolicy
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace, MixedSpace

TRAINED: Final = "trained"
YOUNGER: Final = "younger"
NUM_YOUNGER: Final = 2
MAX_MODEL_BYTES: Final = 64 << 20


def is_exported(given: str) -> bool:
    """Whether it names a folder that `attract export` wrote."""
    return (Path(given) / DOCUMENT_FILE).is_file()


def exported_policy(folder: Path) -> list[PlaytestPolicy]:
    """The policy of an export. Raises: ConfigurationError: several. FileError: a file is damaged."""
    path = folder / DOCUMENT_FILE
    text = read_file(path, MAX_JSON_BYTES)
    document = parse_object(text, path)
    _check_single(document, str(folder))
    name = model_file("main", ["main"])
    parts = document.get("parts", {}).get(name)
    names = [name] if parts is None else [f"{name}.{number}" for number in range(1, int(parts) + 1)]
    model = b"".join(read_file(folder / part, MAX_MODEL_BYTES, folder) for part in names)
    return [PlaytestPolicy(name=TRAINED, document=text.decode(), model=model)]


async def run_policies(models: RunModels, run: str, runs_dir: Path) -> list[PlaytestPolicy]:
    """The best version of a run and two younger ones.

    Raises: ConfigurationError: there is no such run, or it has no policy. UnknownRunError: nothing exported.
    """
    run_id = find_run(runs_dir, run)
    directory = RunDirectory.view(runs_dir, run_id)
    document = json.loads(models.document(run_id))
    _check_single(document, run)
    # Models that are made of checkpoints have no masks in their graph; the player masks what they give.
    document.get("inputs", {}).pop("action_mask", None)
    known = directory.versions()
    best = directory.marked("best") or max(known)
    chosen = [best, *younger(known, best)]
    names = [TRAINED, *(f"{YOUNGER}-{number}" for number in range(1, len(chosen)))]
    return [
        PlaytestPolicy(
            name=name,
            document=json.dumps({**document, "policy_version": version}),
            model=await models.model(run_id, version),
        )
        for name, version in zip(names, chosen, strict=True)
    ]


def younger(versions: Sequence[int], best: int) -> list[int]:
    """Versions at about a third and two thirds of the way to `best`, the older training first."""
    before = sorted(version for version in versions if 0 < version < best)
    wanted = (best * number / (NUM_YOUNGER + 1) for number in range(1, NUM_YOUNGER + 1))
    return sorted({min(before, key=lambda version: abs(version - at)) for at in wanted}) if before else []


def hashes(policies: Sequence[PlaytestPolicy]) -> dict[str, str]:
    return {policy.name: hashlib.sha256(policy.model).hexdigest() for policy in policies}


def _check_single(document: Mapping[str, Any], given: str) -> None:
    if len(document.get("policies", {})) > 1:
        raise ConfigurationError(
            f"{given} has several policies", setting="--policy", fix="export one policy for all agents"
        )


MAX_HELD: Final = 24
HOWS: Final = ("greedy", "sampled", "clumsy", "excursions")
"""How a trained policy plays; a younger version plays `greedy` alone."""


def held_actions(action: ActionSpace) -> int:
    """Number of held actions of a space, from 1 to 24: the length of `heldActions` of the browser's side."""
    if isinstance(action, BoxSpace):
        held = 2 * action.size
    elif isinstance(action, DiscreteSpace):
        held = action.n
    else:
        held = sum(choices - 1 for choices in action.choices)
        held += 2 * action.box.size if isinstance(action, MixedSpace) else 0
    return min(MAX_HELD, max(1, held))


def crowd(description: GameDescription, policies: Sequence[str], num_recorded: int) -> list[str]:
    """Names of all players of a game, in the order of their turns: a short budget reaches the first alone.

    Args:
        policies: names of the policies that take part.
        num_recorded: episodes that are played again.
    """
    held = [f"hold-{k}" for k in range(held_actions(description.action))]
    trained = [f"{TRAINED}:{how}" for how in HOWS] if TRAINED in policies else []
    younger = [f"{name}:greedy" for name in policies if name != TRAINED]
    recorded = [f"recorded-{k}" for k in range(num_recorded)]
    # Where a page is so slow that two of them play, inputs should be among what they do most.
    return ["random", "idle", "sticky", "novelty", *trained, *younger, *recorded, *held]
