"""The routes by which the recorded episodes of a run are listed, fetched, starred, deleted and added.

Those of the findings of `attract ci` are listed with them.
"""

import asyncio
from typing import Final

from attract.run.events import event_of
from attract.runs.playtest_reports import list_reports
from attract.schema.playtest_reports import PlaytestReport
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode, StarEpisode
from attract.server.dependencies import ServiceDep, SettingsDep
from attract.server.guard import routes_for

MAX_BYTES: Final = 4 << 20
"""Limit of an episode's body: that of its file."""


viewer, admin, sender = routes_for("viewer"), routes_for("admin"), routes_for("admin", MAX_BYTES)


@viewer.get("/api/findings")
def get_findings(settings: SettingsDep) -> list[PlaytestReport]:
    return list_reports((settings.project_dir, settings.runs_dir.parent))


@viewer.get("/api/runs/{run_id}/episodes")
def get_episodes(run_id: str, service: ServiceDep) -> list[EpisodeEntry]:
    return service.episodes.entries(run_id)


@viewer.get("/api/runs/{run_id}/episodes/{episode_id}")
def get_episode(run_id: str, episode_id: str, service: ServiceDep) -> RecordedEpisode:
    return service.episodes.get(run_id, episode_id)


@sender.post("/api/runs/{run_id}/episodes", status_code=201)
async def keep_episode(run_id: str, body: RecordedEpisode, service: ServiceDep) -> EpisodeEntry:
    entry = await asyncio.to_thread(service.episodes.add, run_id, body)
    service.events.publish(run_id, event_of("episode", entry))
    return entry


@admin.post("/api/runs/{run_id}/episodes/{episode_id}/star")
async def star_episode(run_id: str, episode_id: str, body: StarEpisode, service: ServiceDep) -> EpisodeEntry:
    entry = await asyncio.to_thread(service.episodes.star, run_id, episode_id, body.starred)
    service.events.publish(run_id, event_of("episode", entry))
    return entry


@admin.post("/api/runs/{run_id}/episodes/{episode_id}/delete")
def delete_episode(run_id: str, episode_id: str, service: ServiceDep) -> list[EpisodeEntry]:
    return service.episodes.delete(run_id, episode_id)
