"""What `attract ci` and `attract verify` play: a module, an adapter, or a page whose adapter is guessed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.commands.destination import shown_path, write_output
from attract.commands.given_page import page_to_play
from attract.commands.output import CommandConsole, say
from attract.commands.probe import SIZE, found_in_time
from attract.commands.train_display import printable
from attract.errors import ConfigurationError
from attract.games.page_places import ADAPTER, PagePlace, names_page
from attract.games.project import find_project_dir
from attract.playtest.baseline import NAME
from attract.playtest.unadapted import playable, unprobed, usual_inputs, with_watched
from attract.schema.playtest import PlaytestObserved
from attract.settings.run import ServerSettings

PROBE_SHARE: Final = 0.25
PROBE_LIMIT_SHARE: Final = 0.5
"""Shares of the seconds after which the probe of a page tries nothing more, and is given up."""


@dataclass(frozen=True)
class Chosen:
    """The game that is played."""

    game: str
    """A bundled name, or the whole path of a module or an adapter."""
    place: PagePlace | None = None
    """The page that was named; None: none was."""
    is_guessed: bool = False
    """Whether the adapter was made for this once."""
    has_score: bool = True
    knows_inputs: bool = True
    """False: the probe found no key or click that does anything."""
    is_restart_known: bool = True
    """False: there was no time to look for one."""
    inputs: str = "the adapter's"
    """What is pressed, and why that."""
    observed: Sequence[PlaytestObserved] = ()
    """What the observation is read of, where nobody has the adapter and its numbers' places say nothing."""

    def server(self, given: ServerSettings) -> ServerSettings:
        """The settings with which it is served: a page's adapter lies in a project of its own."""
        if self.place is None:
            return given
        adapter = Path(self.game)
        project = adapter.parent if self.is_guessed else find_project_dir(adapter)
        return given.model_copy(update={"project_dir": project})

    @property
    def replay_game(self) -> str | None:
        """What `attract replay --game` takes; None: the adapter was made for this once."""
        if self.is_guessed:
            return None
        return shown_path(Path(self.game)) if Path(self.game).suffix else self.game

    @property
    def baseline(self) -> Path | None:
        """Where its baseline is by default: beside a game that is a file of its own."""
        path = Path(self.game)
        return None if self.is_guessed or not path.suffix else path.parent / NAME


async def choose_game(
    game: str,
    seconds: float,
    server: ServerSettings,
    folder: Path,
    console: CommandConsole,
    *,
    is_compared: bool = False,
) -> Chosen:
    """What is played: of a page its own adapter, or one that is guessed into `folder`.

    Args:
        seconds: for all of the play.
        is_compared: whether with a baseline.

    Raises: ConfigurationError: it has several adapters, or a baseline is asked of a page without one.
    """
    if not names_page(game, server.web_dir):
        return Chosen(game)
    page, adapter = page_to_play(game, server, console)
    if adapter is not None:
        return Chosen(str(adapter), page)
    if is_compared:
        raise ConfigurationError(
            f"{game} has no adapter: what is guessed may differ from build to build",
            setting="--baseline",
            fix=f"attract probe {game}, review what it writes, and name that in place of the page",
        )
    say(console, f"{game} has no adapter: probing the page")
    budget, limit = PROBE_SHARE * seconds, PROBE_LIMIT_SHARE * seconds
    began = time.monotonic()
    found = await found_in_time(page, server, SIZE, budget, limit) or unprobed(page.page, SIZE)
    device = server.page_device
    usual = usual_inputs(found["adapter"], device)
    why = f"not found in {time.monotonic() - began:.0f} s; {usual}"
    if found["moves"]:
        why = ", ".join(found["moves"])
    elif "controls" not in found["cut"]:
        listens = ", ".join(found["listens"]) or "no key or pointer"
        why = f"none found: {usual}; the page listens to {listens}"
    say(console, printable(f"  controls: {why}"))
    adapter = folder / ADAPTER
    text = playable(found["adapter"], found["unfinished"], device)
    write_output(adapter, with_watched(text, found["seen"], found["seen_numbers"]).encode())
    return Chosen(
        str(adapter),
        page,
        is_guessed=True,
        has_score="score" not in found["unfinished"],
        knows_inputs=bool(found["moves"]),
        is_restart_known="a restart" not in found["cut"],
        inputs=why,
        observed=[
            PlaytestObserved(text=text, numbers=numbers)
            for text, numbers in zip(found["seen"], found["seen_numbers"], strict=True)
        ],
    )
