"""The routes of past runs: the list of runs, and what is recorded of their episodes."""

import asyncio
from typing import Annotated, Final

from fastapi import Query

from attract.run.events import event_of
from attract.runs.catalogue import NEWEST_FIRST, PAGE
from attract.runs.playtest_reports import list_reports
from attract.schema.match import MatchReport
from attract.schema.recorded_episode import EpisodeEntry, PlaytestReport, RecordedEpisode, StarEpisode
from attract.schema.run_list import DeletedRun, EditLabels, RunList, RunRow
from attract.server.dependencies import ServiceDep, SettingsDep
from attract.server.guard import routes_for

MAX_BYTES: Final = 4 << 20
"""Limit of an episode's body: that of its file."""
MAX_QUERY_CHARACTERS = 2_000
"""Limit of the parameter; the search has a smaller one and says so."""

viewer, admin, sender = routes_for("viewer"), routes_for("admin"), routes_for("admin", MAX_BYTES)


@viewer.get("/api/runs")
def get_runs(
    service: ServiceDep,
    q: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS)] = "",
    sort: Annotated[str, Query(min_length=1, max_length=130)] = NEWEST_FIRST,
    limit: Annotated[int, Query(ge=1, le=1_000)] = PAGE,
    after: Annotated[str | None, Query(max_length=141)] = None,
    metrics: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS)] = "",
) -> RunList:
    return service.catalogue.list(q, sort, limit=limit, after=after, metrics=metrics.split(","))


@admin.patch("/api/runs/{run_id}")
def edit_run(run_id: str, body: EditLabels, service: ServiceDep) -> RunRow:
    return service.catalogue.edit(run_id, body)


@admin.delete("/api/runs/{run_id}")
def delete_run(run_id: str, service: ServiceDep) -> DeletedRun:
    return service.catalogue.delete(run_id)


@admin.post("/api/trash/{trash_id}/restore")
def restore_run(trash_id: str, service: ServiceDep) -> RunRow:
    return service.catalogue.restore(trash_id)


@admin.delete("/api/trash/{trash_id}")
def erase_run(trash_id: str, service: ServiceDep) -> DeletedRun:
    return service.catalogue.erase(trash_id)


@viewer.get("/api/findings")
def get_findings(settings: SettingsDep) -> list[PlaytestReport]:
    return list_reports((settings.project_dir, settings.runs_dir.parent))


@viewer.get("/api/runs/{run_id}/match")
def get_match(run_id: str, service: ServiceDep) -> MatchReport | None:
    return service.archive.match(run_id)


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
