"""The routes by which the recorded episodes of a run are listed, fetched, starred, deleted and added.

Those of the findings of `attract ci` are listed with them.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fastapi import FastAPI

from attract.run.events import event_of
from attract.run.service import RunService
from attract.runs.playtest_reports import list_reports
from attract.schema.playtest_reports import PlaytestReport
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode, StarEpisode
from attract.server.guard import role

MAX_BYTES: Final = 4 << 20
"""Limit of an episode's body: that of its file."""


def add_episode_routes(app: FastAPI, service: RunService, projects: Sequence[Path]) -> None:
    """Add the six routes to `app`; they wait for the disk in threads of their own.

    Args:
        projects: folders whose folders may have a report of `attract ci`.
    """

    @app.get("/api/findings")
    @role("viewer")
    def get_findings() -> list[PlaytestReport]:
        return list_reports(projects)

    @app.get("/api/runs/{run_id}/episodes")
    @role("viewer")
    def get_episodes(run_id: str) -> list[EpisodeEntry]:
        return service.episodes.entries(run_id)

    @app.get("/api/runs/{run_id}/episodes/{episode_id}")
    @role("viewer")
    def get_episode(run_id: str, episode_id: str) -> RecordedEpisode:
        return service.episodes.get(run_id, episode_id)

    @app.post("/api/runs/{run_id}/episodes", status_code=201)
    @role("admin", body_bytes=MAX_BYTES)
    async def keep_episode(run_id: str, body: RecordedEpisode) -> EpisodeEntry:
        entry = await asyncio.to_thread(service.episodes.add, run_id, body)
        service.events.publish(run_id, event_of("episode", entry))
        return entry

    @app.post("/api/runs/{run_id}/episodes/{episode_id}/star")
    @role("admin")
    async def star_episode(run_id: str, episode_id: str, body: StarEpisode) -> EpisodeEntry:
        entry = await asyncio.to_thread(service.episodes.star, run_id, episode_id, body.starred)
        service.events.publish(run_id, event_of("episode", entry))
        return entry

    @app.post("/api/runs/{run_id}/episodes/{episode_id}/delete")
    @role("admin")
    def delete_episode(run_id: str, episode_id: str) -> list[EpisodeEntry]:
        return service.episodes.delete(run_id, episode_id)
