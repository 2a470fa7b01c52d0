"""Routes by which a server is monitored: `/healthz`, `/readyz` and `/metrics`."""

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from attract.server.exposition import CONTENT_TYPE, Exposition
from attract.server.guard import role
from attract.server.readiness import Readiness

NO_STORE = "no-store"


def add_watch_routes(app: FastAPI, readiness: Readiness, exposition: Exposition) -> None:
    """Add the three routes to `app`."""

    @app.get("/healthz")
    @role("public")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    @role("public")
    async def readyz() -> JSONResponse:
        view = await readiness.view()
        return JSONResponse(
            view.model_dump(mode="json"), 200 if view.ready else 503, headers={"cache-control": NO_STORE}
        )

    # Not public: it reveals which games are trained, how well, and by how many workers.
    @app.get("/metrics")
    @role("viewer")
    async def metrics() -> Response:
        return Response(exposition.text(), media_type=CONTENT_TYPE, headers={"cache-control": NO_STORE})
