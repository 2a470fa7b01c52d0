"""The HTTP API and the pages; each route declares who may call it."""

import asyncio
import functools
import os
from collections.abc import Callable, Sequence
from mimetypes import guess_type
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, StreamingResponse

from attract.errors import (
    AttractError,
    ConfigurationError,
    DemonstrationError,
    EpisodeWriteError,
    QueryError,
    RunActiveError,
    UnknownRunError,
)
from attract.games.library import CardFile, GameLibrary
from attract.run.event_stream import stream_events
from attract.run.events import event_of
from attract.run.settings_view import setting_problems, settings_form, settings_view
from attract.runs.metric_table import DEFINITIONS
from attract.runs.metrics import Event
from attract.runs.plain_text import shortened
from attract.runs.studies import list_studies, read_view, study_folder
from attract.schema.api import (
    FleetView,
    GameEntry,
    LetIn,
    LogView,
    Problem,
    RollBack,
    RunView,
    SettingProblem,
    SettingsForm,
    SettingsRequest,
    SettingsView,
    StartRun,
)
from attract.schema.metrics import MetricDefinitions, MetricsView
from attract.schema.recorded_episode import DemonstrationEntry, RecordedEpisode
from attract.schema.run_list import VersionsView
from attract.schema.studies import StudySummary, StudyView
from attract.server import access_routes, past_run_routes
from attract.server.compression import smallest
from attract.server.dependencies import (
    DemonstrationsDep,
    ExpositionDep,
    GamesDep,
    GrantDep,
    GuardDep,
    ReadinessDep,
    ServiceDep,
    SettingsDep,
)
from attract.server.exposition import CONTENT_TYPE
from attract.server.guard import routes_for
from attract.server.page_games import SANDBOX_PAGE, sandbox_policy

IMMUTABLE = "public, max-age=31536000, immutable"
NO_STORE = "no-store"
MAX_PROBLEMS = 20
"""Limit of the problems that the answer to one request lists."""
MAX_SHOWN = 100
"""Characters of a stranger's address that an answer repeats."""
JAVASCRIPT = "text/javascript; charset=utf-8"
GameId = Annotated[str, Query(min_length=1, max_length=120)]
"""As `Name` of the schema, in an address."""


public, viewer, admin = routes_for("public"), routes_for("viewer"), routes_for("admin")
pages = routes_for("public")
_form = functools.cache(settings_form)


def add_routes(app: FastAPI) -> None:
    """Add every route to `app`, whose state has what `dependencies` names."""
    # They stand in `app.routes` themselves, where the guard finds the role of each; the pages' has any path.
    for router in (
        *(public, viewer, admin),
        *(access_routes.public, access_routes.viewer, access_routes.admin),
        *(past_run_routes.viewer, past_run_routes.admin, past_run_routes.sender),
        pages,
    ):
        app.router.routes.extend(router.routes)
    _add_problems(app)


@public.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}


@public.get("/readyz")
async def readyz(readiness: ReadinessDep) -> JSONResponse:
    view = await readiness.view()
    return JSONResponse(
        view.model_dump(mode="json"), 200 if view.ready else 503, headers={"cache-control": NO_STORE}
    )


# Not public: it reveals which games are trained, how well, and by how many workers.
@viewer.get("/metrics")
async def metrics(exposition: ExpositionDep) -> Response:
    return Response(exposition.text(), media_type=CONTENT_TYPE, headers={"cache-control": NO_STORE})


@viewer.get("/api/games")
async def get_games(games: GamesDep) -> list[GameEntry]:
    return await games.entries()


@viewer.get("/api/metrics")
async def get_metric_definitions() -> MetricDefinitions:
    return DEFINITIONS


@viewer.get("/api/games/{game}/card.jpg")
def get_card(game: str, games: GamesDep) -> Response:
    return _card_file(games, game, "card.jpg", "image/jpeg")


@viewer.get("/api/games/{game}/policy.onnx")
def get_kept_policy(game: str, games: GamesDep) -> Response:
    return _card_file(games, game, "policy.onnx", "application/octet-stream")


@viewer.get("/api/settings")
async def get_settings() -> SettingsForm:
    return _form()


@viewer.post("/api/settings")
def try_settings(body: SettingsRequest, games: GamesDep) -> SettingsView:
    return settings_view(games, body.game, body.settings, body.description)


# Only members of a run know the content hash (256 bits); a module worker cannot send a token.
@public.get("/games/{sha256}.js")
async def get_game(sha256: str, games: GamesDep) -> Response:
    module = games.by_hash(sha256)
    if module is None:
        raise HTTPException(404, Problem(error="no such game module").model_dump())
    headers = {"cache-control": IMMUTABLE}
    if module.source_map is not None:
        headers["sourcemap"] = f"{sha256}.js.map"
    return Response(module.code, media_type=JAVASCRIPT, headers=headers)


@public.get("/games/{sha256}.js.map")
async def get_source_map(sha256: str, games: GamesDep) -> Response:
    module = games.by_hash(sha256)
    if module is None or module.source_map is None:
        raise HTTPException(404, Problem(error="no such source map").model_dump())
    return Response(module.source_map, media_type="application/json", headers={"cache-control": IMMUTABLE})


def _card_file(games: GameLibrary, game: str, file: CardFile, media_type: str) -> Response:
    path = games.card_file(game, file)
    if path is None:
        raise HTTPException(404, Problem(error=f"{game} has no card").model_dump())
    return FileResponse(path, media_type=media_type)


@admin.post("/api/runs", status_code=201)
async def start_run(body: StartRun, service: ServiceDep) -> RunView:
    settings = service.settings_of(body.game, body.settings)
    return await service.start_run(body.game, settings, run_id=body.run_id, check=True)


@viewer.get("/api/runs/{run_id}")
def get_run(run_id: str, service: ServiceDep) -> RunView:
    return service.view(run_id)


@admin.post("/api/runs/{run_id}/pause")
async def pause_run(run_id: str, service: ServiceDep) -> RunView:
    return await service.pause(run_id)


@admin.post("/api/runs/{run_id}/resume")
async def resume_run(run_id: str, service: ServiceDep) -> RunView:
    return await service.resume(run_id)


@admin.post("/api/runs/{run_id}/let-in")
async def let_in(run_id: str, body: LetIn, service: ServiceDep) -> RunView:
    return await service.let_in(run_id, body.identity)


@admin.post("/api/runs/{run_id}/stop")
async def stop_run(run_id: str, service: ServiceDep) -> RunView:
    return await service.stop(run_id)


@admin.post("/api/runs/{run_id}/rollback")
async def roll_back(run_id: str, body: RollBack, service: ServiceDep) -> RunView:
    return await asyncio.to_thread(service.roll_back, run_id, body.to_version)


@viewer.get("/api/runs/{run_id}/fleet")
async def get_fleet(run_id: str, service: ServiceDep) -> FleetView:
    return service.fleet(run_id)


@viewer.get("/api/runs/{run_id}/log")
def get_log(run_id: str, service: ServiceDep, grant: GrantDep) -> LogView:
    # What the server logs names folders and visitors.
    return service.log(run_id, whole=grant is not None and grant.role == "admin")


@viewer.get("/api/runs/{run_id}/metrics")
def get_metrics(
    run_id: str,
    service: ServiceDep,
    names: Annotated[str | None, Query(max_length=10_000)] = None,
    from_steps: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
    to_steps: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
    max_points: Annotated[int, Query(ge=1, le=10_000)] = 500,
) -> MetricsView:
    wanted = [name for name in names.split(",") if name] if names else None
    return service.archive.metrics(
        run_id, wanted, from_steps=from_steps, to_steps=to_steps, max_points=max_points
    )


@viewer.get("/api/runs/{run_id}/events")
async def get_events(
    run_id: str,
    request: Request,
    service: ServiceDep,
    guard: GuardDep,
    grant: GrantDep,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    await asyncio.to_thread(service.view, run_id)
    after = None if last_event_id is None else _number(last_event_id)
    if last_event_id is not None and after is None:
        raise HTTPException(400, Problem(error=f"{last_event_id[:40]!r} is no event's id").model_dump())

    def first() -> Event:
        return event_of("status", service.view(run_id), service.archive.last_event_id(run_id))

    def missed() -> list[Event]:
        return [] if after is None else service.archive.events_after(run_id, after)

    entry = None if grant is None else grant.entry

    def is_granted() -> bool:
        return guard.check_request(request.scope, "viewer") is None

    texts = stream_events(service.events, run_id, first, missed, entry, is_granted)
    headers = {"cache-control": NO_STORE, "x-accel-buffering": "no"}
    return StreamingResponse(texts, media_type="text/event-stream", headers=headers)


@viewer.get("/api/runs/{run_id}/versions")
def get_versions(run_id: str, service: ServiceDep) -> VersionsView:
    return service.models.versions(run_id)


@viewer.get("/api/runs/{run_id}/policy/{version}.onnx")
async def get_policy(
    run_id: str,
    version: str,
    service: ServiceDep,
    policy: Annotated[str | None, Query(max_length=120)] = None,
) -> Response:
    if version == "latest":
        newest = await asyncio.to_thread(service.models.latest_version, run_id)
        query = "" if policy is None else f"?policy={quote(policy)}"
        # Relative, so that it holds under any prefix.
        return RedirectResponse(f"{newest}.onnx{query}", 307, headers={"cache-control": NO_STORE})
    number = _number(version)
    if number is None:
        raise HTTPException(404, Problem(error=f"no policy version {version[:40]!r}").model_dump())
    onnx = await service.models.model(run_id, number, policy)
    return Response(onnx, media_type="application/octet-stream", headers={"cache-control": IMMUTABLE})


@viewer.get("/api/runs/{run_id}/policy.json")
def get_policy_document(run_id: str, service: ServiceDep) -> Response:
    return Response(
        service.models.document(run_id),
        media_type="application/json",
        headers={"cache-control": NO_STORE},
    )


@viewer.get("/api/demonstrations")
def get_demonstrations(game_id: GameId, store: DemonstrationsDep) -> list[DemonstrationEntry]:
    return store.entries(game_id)


@past_run_routes.sender.post("/api/demonstrations", status_code=201)
def keep_demonstration(body: RecordedEpisode, store: DemonstrationsDep) -> DemonstrationEntry:
    return store.add(body)


@admin.post("/api/demonstrations/{demonstration_id}/delete")
def delete_demonstration(
    demonstration_id: str, game_id: GameId, store: DemonstrationsDep
) -> list[DemonstrationEntry]:
    if not store.remove(game_id, demonstration_id):
        raise HTTPException(404, Problem(error="there is no such demonstration").model_dump())
    return store.entries(game_id)


@viewer.get("/api/studies")
def get_studies(settings: SettingsDep) -> list[StudySummary]:
    return list_studies(settings.runs_dir)


@viewer.get("/api/studies/{name}")
def get_study(name: str, settings: SettingsDep) -> StudyView:
    try:
        view = read_view(study_folder(settings.runs_dir, name))
    except ConfigurationError:
        view = None
    if view is None:
        raise HTTPException(404, Problem(error=f"there is no study {name[:100]!r}").model_dump())
    return view


class BuiltPages:
    """The dashboard's files as they were built; nothing else is served. Used from several threads.

    Reads the folder again after a new build.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[int, dict[str, Path]] = (-1, {})

    def find(self, path: str) -> Path | None:
        """The file at `path`, relative and with `/`; None when none was built by that name."""
        stamp = self._stamp()
        if stamp != self._known[0]:
            self._known = (stamp, dict(self._files()))
        return self._known[1].get(path)

    def _stamp(self) -> int:
        try:
            return (self._folder / "index.html").stat().st_mtime_ns
        except OSError:
            return -1

    def _files(self) -> list[tuple[str, Path]]:
        files = [Path(folder) / name for folder, _, names in os.walk(self._folder) for name in names]
        return [
            (file.relative_to(self._folder).as_posix(), file)
            for file in files
            if file.is_file() and not file.is_symlink()
        ]


@pages.get("/{path:path}", include_in_schema=False)
def get_page(path: str, request: Request) -> Response:
    built: BuiltPages = request.app.state.pages
    file = built.find(path or "index.html")
    if file is None:
        fix = None if built.find("index.html") else "the web side is not built: npm run build"
        problem = Problem(error=f"there is no {path[:MAX_SHOWN] or 'dashboard'}", fix=fix)
        raise HTTPException(404, problem.model_dump())
    hashed = path.startswith("assets/")
    kind, _ = guess_type(file.name)
    sent, encoding = smallest(file, request.headers)
    headers = {"cache-control": IMMUTABLE if hashed else "no-cache", **encoding}
    if path == SANDBOX_PAGE:
        headers["content-security-policy"] = sandbox_policy(file.read_text(encoding="utf-8"))
    return FileResponse(sent, media_type=kind or "application/octet-stream", headers=headers)


def _number(text: str) -> int | None:
    """A version or an event's id, None for what cannot be one: no more digits than JavaScript can count."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


def _problem(
    status: int,
    error: str,
    fix: str | None = None,
    problems: Sequence[SettingProblem] = (),
    suggestion: str | None = None,
) -> JSONResponse:
    """An answer of bounded size, even where it quotes a request."""
    body = Problem(
        error=shortened(error),
        fix=None if fix is None else shortened(fix),
        problems=list(problems[:MAX_PROBLEMS]),
        suggestion=suggestion,
    )
    return JSONResponse(body.model_dump(mode="json"), status)


def _add_problems(app: FastAPI) -> None:
    """Every error is answered with a `Problem`, wherever it was raised."""

    def answer(status: int) -> Callable[[Request, Any], JSONResponse]:
        def handle(_request: Request, error: AttractError) -> JSONResponse:
            fix = error.fix if isinstance(error, ConfigurationError) else None
            text = error.problem if isinstance(error, ConfigurationError) else str(error)
            setting = error.setting if isinstance(error, ConfigurationError) else None
            problems = setting_problems(error) if isinstance(error, ConfigurationError) else []
            meant = error.suggestion if isinstance(error, QueryError) else None
            return _problem(status, f"{setting}: {text}" if setting else text, fix, problems, meant)

        return handle

    def handle_http(_request: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error.detail, dict):
            return JSONResponse(error.detail, error.status_code)
        return _problem(error.status_code, str(error.detail))

    def handle_invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        problems = [
            shortened(f"{'.'.join(str(part) for part in problem['loc'][1:])}: {problem['msg']}", MAX_SHOWN)
            for problem in found[:MAX_PROBLEMS]
        ]
        if len(found) > MAX_PROBLEMS:
            problems.append(f"and {len(found) - MAX_PROBLEMS} more")
        return _problem(422, "; ".join(problems))

    app.add_exception_handler(RequestValidationError, handle_invalid)  # pyright: ignore[reportArgumentType]
    app.add_exception_handler(AttractError, answer(422))
    app.add_exception_handler(QueryError, answer(400))
    app.add_exception_handler(UnknownRunError, answer(404))
    app.add_exception_handler(DemonstrationError, answer(507))
    app.add_exception_handler(EpisodeWriteError, answer(507))
    app.add_exception_handler(RunActiveError, answer(409))
    app.add_exception_handler(HTTPException, handle_http)  # pyright: ignore[reportArgumentType]
