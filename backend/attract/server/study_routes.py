"""The routes by which studies of `attract tune` are shown; other processes write them."""

from pathlib import Path

from fastapi import FastAPI, HTTPException

from attract.errors import ConfigurationError
from attract.runs.studies import list_studies, read_view, study_folder
from attract.schema.api import Problem
from attract.schema.studies import StudySummary, StudyView
from attract.server.guard import role


def add_study_routes(app: FastAPI, runs_dir: Path) -> None:
    """Add both routes to `app`; they wait for the disk in threads of their own."""

    @app.get("/api/studies")
    @role("viewer")
    def get_studies() -> list[StudySummary]:
        return list_studies(runs_dir)

    @app.get("/api/studies/{name}")
    @role("viewer")
    def get_study(name: str) -> StudyView:
        try:
            view = read_view(study_folder(runs_dir, name))
        except ConfigurationError:
            view = None
        if view is None:
            raise HTTPException(404, Problem(error=f"there is no study {name[:100]!r}").model_dump())
        return view
