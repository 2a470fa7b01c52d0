"""Keeps recorded episodes of the active run, with the build that was played, off the event loop."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from attract.errors import AttractError
from attract.games.kept_builds import keep_page
from attract.games.kept_game import PageListing, build_hashes, list_played_page
from attract.games.library import GameModule
from attract.run.background import WorkInOrder
from attract.run.effects import KeepEpisodes
from attract.run.notifications import Notifications
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import EpisodeStore, NewEpisode
from attract.schema.api import GameReport
from attract.schema.game import GameDescription
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import RecordingSettings

log = logging.getLogger(__name__)


class EpisodeKeeper:
    """Owned by the active run, used on its event loop.

    An episode that cannot be written is given up, with a line in the log: the run goes on.
    """

    def __init__(
        self,
        directory: RunDirectory,
        settings: RecordingSettings,
        module: GameModule,
        notifications: Notifications,
        work: WorkInOrder,
        description: Callable[[], GameDescription | None],
        *,
        adapter_folder: Path | None,
        keep: bool,
    ) -> None:
        """`adapter_folder`: above the game's page; `keep`: False for a past run, which is left as it is."""
        self._directory = directory
        self._module = module
        self._notifications = notifications
        self._work = work
        self._description = description
        self._adapter_folder = adapter_folder
        self._keep = keep
        self._build: dict[str, str | None] | None = None
        self._store = EpisodeStore(directory.path, limits_of(settings))

    def keep(self, effect: KeepEpisodes) -> None:
        """Keep the best, the worst and the median of an evaluation or of training."""
        new = [
            NewEpisode(episode, effect.source, role, effect.agent_steps) for role, episode in effect.episodes
        ]
        self._work.add(partial(self._write, new, None))

    def keep_failure(self, report: GameReport, episode: RecordedEpisode) -> None:
        """Keep the episode that failed with this report, whose stack names the author's own files."""
        if episode.error is not None and report.stack is not None:
            error = episode.error.model_copy(update={"stack": report.stack})
            episode = episode.model_copy(update={"error": error})
        self._work.add(partial(self._write, [NewEpisode(episode, "failure")], report))

    async def filled(self, episodes: Sequence[RecordedEpisode]) -> list[RecordedEpisode]:
        """The episodes with the run, the build that was played, and the time."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        update = {**await self._build_played(), "created_at": now}
        return [episode.model_copy(update=update) for episode in episodes]

    async def _write(self, new: Sequence[NewEpisode], report: GameReport | None) -> None:
        build = await self._build_played()
        filled = [replace(episode, episode=episode.episode.model_copy(update=build)) for episode in new]
        try:
            entries = await asyncio.to_thread(self._store.add, filled)
        except AttractError as error:
            log.warning("%d episodes were not kept: %s", len(new), error)
            return
        for entry in entries:
            self._notifications.episode_kept(entry, report)

    async def _build_played(self) -> dict[str, str | None]:
        """Hashes of module, description and page; the page's are taken once a session."""
        description = self._description()
        if self._build is None:
            listing = await asyncio.to_thread(list_played_page, description, self._adapter_folder)
            if listing is not None and self._keep:
                await asyncio.to_thread(self._keep_page, listing)
            run = {"run_id": self._directory.run_id}
            self._build = {**run, **build_hashes(self._module, description, listing)}
        return self._build

    def _keep_page(self, listing: PageListing) -> None:
        try:
            keep_page(self._directory, listing)
        except (AttractError, OSError) as error:
            log.warning("the list of the page's files was not kept: %s", error)


def limits_of(settings: RecordingSettings) -> EpisodeLimits:
    """The limits of a run's store."""
    return EpisodeLimits(settings.max_bytes, settings.max_episodes)
