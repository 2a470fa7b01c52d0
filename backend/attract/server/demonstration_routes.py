"""The routes by which what people play is kept, listed and deleted."""

from typing import Annotated, Final

from fastapi import FastAPI, HTTPException, Query

from attract.runs.demonstrations import DemonstrationStore
from attract.schema.api import DemonstrationEntry, Problem
from attract.schema.recorded_episode import RecordedEpisode
from attract.server.guard import role

MAX_BYTES: Final = 4 << 20
"""Limit of an episode's body: the longest episode, not deflated, has half of that."""
GameId = Annotated[str, Query(min_length=1, max_length=120)]
"""As `Name` of the schema, in an address."""


def add_demonstration_routes(app: FastAPI, store: DemonstrationStore) -> None:
    """Add the three routes to `app`; they wait for the disk in threads of their own."""

    @app.get("/api/demonstrations")
    @role("viewer")
    def get_demonstrations(game_id: GameId) -> list[DemonstrationEntry]:
        return store.entries(game_id)

    @app.post("/api/demonstrations", status_code=201)
    @role("admin", body_bytes=MAX_BYTES)
    def keep_demonstration(body: RecordedEpisode) -> DemonstrationEntry:
        return store.add(body)

    @app.post("/api/demonstrations/{demonstration_id}/delete")
    @role("admin")
    def delete_demonstration(demonstration_id: str, game_id: GameId) -> list[DemonstrationEntry]:
        if not store.remove(game_id, demonstration_id):
            raise HTTPException(404, Problem(error="there is no such demonstration").model_dump())
        return store.entries(game_id)
