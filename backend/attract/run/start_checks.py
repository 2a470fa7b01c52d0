"""Refuses a run that cannot work, before its folder exists and before a browser or a learner starts."""

import asyncio
import functools
import os
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from attract.errors import ConfigurationError
from attract.runs.checkpoint_document import DOCUMENT_FILE, read_counters
from attract.runs.directory import RunDirectory
from attract.schema.game import GameDescription
from attract.settings.collection import policy_ids
from attract.settings.given import LayeredSettings
from attract.settings.run import RunSettings
from attract.settings.self_play import OUTSIDE

ASK_FOR_CUDA = "import torch; raise SystemExit(0 if torch.cuda.is_available() else 3)"
NO_CUDA = 3
NETWORK = ("hidden_sizes", "activation", "shared_trunk", "cnn", "recurrent")
"""Settings of `policy` that decide which network a checkpoint fits."""


async def check_device(device: str) -> None:
    """Nothing for `auto` and `cpu`; for `cuda` a child process asks torch, for a second or two.

    Raises: ConfigurationError: when there is no CUDA device that torch could use.
    """
    if device != "cuda":
        return
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ASK_FOR_CUDA,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    if await child.wait() == NO_CUDA:
        raise ConfigurationError(
            "torch finds no CUDA device on this machine",
            setting="device cuda",
            fix="give auto or cpu; attract doctor says what torch was built for",
        )


def check_named(settings: LayeredSettings, programs: Container[str]) -> None:
    """Whether what a run is to learn from beside its experience is there, and the programs that play in it.

    Args:
        programs: names of those that were defined when this process was started.

    Raises: ConfigurationError: there is no such file or folder, or no such program.
    """
    check_outside(settings.run.self_play.outside, programs, setting=settings.spell("self_play", "seats"))
    source = settings.run.cloning.demonstrations
    if source is not None and not Path(source).exists():
        raise ConfigurationError(
            f"there is no file or folder {source}",
            setting=settings.spell("cloning", "demonstrations"),
            fix="name a recorded episode, or a folder of them",
        )


def check_outside(players: Iterable[str], programs: Container[str], *, setting: str) -> None:
    """Raises: ConfigurationError: one of these players is a program outside that nobody has defined."""
    for player in players:
        name = player.removeprefix(OUTSIDE)
        if player.startswith(OUTSIDE) and name not in programs:
            raise ConfigurationError(
                f"there is no program {name!r}",
                setting=setting,
                fix=f'define it where this is started: --outside {name}="python bot.py"',
            )


def check_resumed(directory: RunDirectory, settings: LayeredSettings) -> None:
    """Whether an existing run can go on with these settings: its own with those given now on top.

    Raises: ConfigurationError: its checkpoint does not fit them, or it has trained that total already.
    """
    run_id = directory.run_id
    before = directory.read_settings()
    if directory.marked("latest") is None:
        return
    now = settings.run
    other = f"`--initialize-from {run_id}` starts another run from its network"
    _check_same(run_id, ["algorithm"], before, now, f"a resumed run keeps its algorithm; {other}")
    _check_network(run_id, before, now, "a resumed run keeps its network")
    own = [f"{now.algorithm}.{name}" for name in now.algorithm_settings.kept]
    _check_same(run_id, own, before, now, f"a resumed run keeps it; {other}")
    names, held = policy_ids(now.collection.seats), policy_ids(before.collection.seats)
    if sorted(names) != sorted(held):
        raise ConfigurationError(
            f"this run has {', '.join(names)}, the checkpoint {', '.join(held)}",
            setting="collection.seats",
            fix=f"a resumed run keeps its policies; {other}",
        )
    done, total = trained_steps(directory), now.total_steps
    if "total_steps" in settings.given and total is not None and total <= done:
        raise ConfigurationError(
            f"run {run_id} has trained {done:,} steps already, which count",
            setting=f"total_steps {total}",
            fix=f"give more than {done}, or omit it to continue without an end",
        )


def check_source(directory: RunDirectory, settings: RunSettings) -> str:
    """The checkpoint folder that another run can start from.

    Raises: ConfigurationError: the run has no policy yet, or its policies are not those of `settings`.
    """
    run_id = directory.run_id
    version = directory.marked("latest")
    if version is None:
        raise ConfigurationError(f"run {run_id} has no policy yet", setting="initialize_from")
    source = directory.read_settings()
    _check_network(run_id, source, settings, "take the same network, or start afresh")
    held = policy_ids(source.collection.seats)
    lacking = [name for name in policy_ids(settings.collection.seats) if name not in held]
    if len(held) > 1 and lacking:
        raise ConfigurationError(
            f"run {run_id} has the policies {', '.join(held)}, none named {', '.join(lacking)}",
            setting="initialize_from",
            fix="name the seats as that run does, by --collection.seats",
        )
    return str((directory.checkpoints / str(version)).resolve())


def check_same_spaces(checkpoint: Path, game: GameDescription, *, setting: str = "initialize_from") -> None:
    """Whether the policy in a checkpoint's run sees and does what this game offers; bounds may differ.

    Raises: ConfigurationError: when it does not, saying how they differ.
    """
    _, source = RunDirectory(checkpoint.parents[1], None).read_game()
    if source is None:
        return
    pairs = {
        "observations": (game.observation, source.observation),
        "actions": (game.action, source.action),
    }
    for what, (own, other) in pairs.items():
        has, had = (_outline(description.model_dump(mode="json")) for description in (own, other))
        if has != had:
            raise ConfigurationError(
                f"run {checkpoint.parents[1].name} was trained with other {what}: {had}; this game has {has}",
                setting=setting,
                fix="name a run of this game",
            )


def trained_steps(directory: RunDirectory) -> int:
    """Agent steps of a run's newest version, 0 without one.

    Raises: CheckpointError: its checkpoint is damaged.
    """
    version = directory.marked("latest")
    folder = directory.checkpoints / str(version)
    if version is None or not os.path.lexists(folder / DOCUMENT_FILE):
        return 0
    return read_counters(folder).agent_steps


def _check_network(run_id: str, held: RunSettings, wanted: RunSettings, fix: str) -> None:
    names = [*NETWORK, *(["recurrent_size"] if held.policy.recurrent != "none" else [])]
    _check_same(run_id, [f"policy.{name}" for name in names], held, wanted, fix)
    had, has = (run.algorithm_settings.normalize_observations for run in (held, wanted))
    if had != has:
        setting = f"{wanted.algorithm}.normalize_observations"
        raise ConfigurationError(f"run {run_id} has {had}, asked for is {has}", setting=setting, fix=fix)


def _check_same(run_id: str, paths: Sequence[str], held: RunSettings, wanted: RunSettings, fix: str) -> None:
    for path in paths:
        had, has = (functools.reduce(getattr, path.split("."), run) for run in (held, wanted))
        if had != has:
            raise ConfigurationError(
                f"run {run_id} has {_plain(had)}, asked for is {_plain(has)}", setting=path, fix=fix
            )


def _plain(value: Any) -> str:
    if value is None:
        return "the default"
    return ",".join(map(str, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else str(value)


def _outline(space: Any) -> Any:
    """A space without what a network does not depend on."""
    if not isinstance(space, dict):
        return space
    items = cast("dict[str, Any]", space).items()
    return {name: _outline(value) for name, value in items if name not in ("low", "high", "labels")}
