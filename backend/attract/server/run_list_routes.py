"""The routes by which runs are listed, labelled, deleted, restored and erased."""

from typing import Annotated

from fastapi import FastAPI, Query

from attract.runs.catalogue import NEWEST_FIRST, PAGE, RunCatalogue
from attract.schema.run_list import DeletedRun, EditLabels, RunList, RunRow
from attract.server.guard import role

MAX_QUERY_CHARACTERS = 2_000
"""Limit of the parameter; the search has a smaller one and says so."""


def add_run_list_routes(app: FastAPI, catalogue: RunCatalogue) -> None:
    """Add the five routes to `app`; they wait for the disk in threads of their own."""

    @app.get("/api/runs")
    @role("viewer")
    def get_runs(
        q: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS)] = "",
        sort: Annotated[str, Query(min_length=1, max_length=130)] = NEWEST_FIRST,
        limit: Annotated[int, Query(ge=1, le=1_000)] = PAGE,
        after: Annotated[str | None, Query(max_length=141)] = None,
    ) -> RunList:
        return catalogue.list(q, sort, limit=limit, after=after)

    @app.patch("/api/runs/{run_id}")
    @role("admin")
    def edit_run(run_id: str, body: EditLabels) -> RunRow:
        return catalogue.edit(run_id, body)

    @app.delete("/api/runs/{run_id}")
    @role("admin")
    def delete_run(run_id: str) -> DeletedRun:
        return catalogue.delete(run_id)

    @app.post("/api/trash/{trash_id}/restore")
    @role("admin")
    def restore_run(trash_id: str) -> RunRow:
        return catalogue.restore(trash_id)

    @app.delete("/api/trash/{trash_id}")
    @role("admin")
    def erase_run(trash_id: str) -> DeletedRun:
        return catalogue.erase(trash_id)
