"""The routes by which runs are listed, labelled, deleted, restored and erased."""

from typing import Annotated

from fastapi import Query

from attract.runs.catalogue import NEWEST_FIRST, PAGE
from attract.schema.run_list import DeletedRun, EditLabels, RunList, RunRow
from attract.server.dependencies import ServiceDep
from attract.server.guard import routes_for

MAX_QUERY_CHARACTERS = 2_000
"""Limit of the parameter; the search has a smaller one and says so."""


viewer, admin = routes_for("viewer"), routes_for("admin")


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
