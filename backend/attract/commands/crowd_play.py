"""What `attract ci` and `attract difficulty` share: a browser that plays, the build, policies and a seed."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attract.commands.output import CommandConsole
from attract.commands.own_host import gateway_with_host
from attract.errors import AttractError, GameError
from attract.games.kept_game import list_played_page
from attract.games.page_places import PagePlace
from attract.playtest.findings import Build
from attract.playtest.players import exported_policy, is_exported, run_policies
from attract.playtest.rules import THRESHOLDS
from attract.schema.base import Seed
from attract.schema.playtest import GamePlaytested, PlaytestGame, PlaytestPolicy
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.server.in_process import Gateway

MAX_STEPS: Final = int(THRESHOLDS["endless"]["steps"])
LOAD_SECONDS: Final = 10.0
HOST_SECONDS: Final = 30.0
MAX_FRAME_BYTES: Final = 256 << 20
"""An answer has thousands of outcomes, and recorded episodes."""


@asynccontextmanager
async def crowd_gateway(
    server: ServerSettings, policy: str | None, console: CommandConsole, *, exposes_heap: bool = False
) -> AsyncGenerator["Gateway"]:
    """As `gateway_with_host`; nothing is left behind where no run is named by `policy`."""
    with tempfile.TemporaryDirectory() as folder:
        is_alone = policy is None or is_exported(policy)
        runs_dir = Path(folder) / "runs" if is_alone else server.runs_dir
        own = {"max_frame_bytes": MAX_FRAME_BYTES, "runs_dir": runs_dir}
        async with gateway_with_host(
            server.model_copy(update=own), console, exposes_heap=exposes_heap
        ) as gateway:
            yield gateway


async def find_build(gateway: "Gateway", game: str, place: PagePlace | None = None) -> Build:
    """The game.

    Args:
        place: of the page whose adapter `game` is, wherever that lies.

    Raises: ConfigurationError: there is none. AttractError: it cannot be played, or there is no browser.
    """
    games = gateway.service.games
    module = await games.resolve(game)
    if place is not None:
        games.place_page(module.reference.name, place.folder)
    # Without a play it is loaded alone: a game that hangs is found where it is played.
    order = PlaytestGame(game=module.reference, seed=Seed(low=0, high=0), budget_seconds=LOAD_SECONDS)
    answer = await gateway.service.membership.checker.playtest(module, order, HOST_SECONDS)
    if answer.description is None:
        raise GameError("load", answer.problem or "the game could not be loaded")
    folder = games.adapter_folder(module.reference)
    listing = await asyncio.to_thread(list_played_page, answer.description, folder)
    return Build(module, answer.description, listing)


async def find_policies(gateway: "Gateway", given: str | None) -> list[PlaytestPolicy]:
    """What `--policy` names. Raises: ConfigurationError, FileError: there is no such policy."""
    if given is None:
        return []
    if is_exported(given):
        return await asyncio.to_thread(exported_policy, Path(given))
    return await run_policies(gateway.service.models, given, gateway.settings.runs_dir)


async def play(gateway: "Gateway", build: Build, order: PlaytestGame) -> GamePlaytested:
    """Have the browser play. Raises: AttractError: it cannot, or went away."""
    return await gateway.service.membership.checker.playtest(build.module, order, HOST_SECONDS)


def seed_of(seed: int) -> Seed:
    """The seed as messages have it, in two halves."""
    return Seed(low=seed & 0xFFFFFFFF, high=seed >> 32)


def problem_of(error: AttractError) -> str:
    """Why a build could not be played; of a game's own error its text alone."""
    return error.text if isinstance(error, GameError) else str(error)
