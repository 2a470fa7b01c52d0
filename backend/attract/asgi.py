"""The gateway for `uvicorn --factory attract.asgi:create_app`; settings come from `ATTRACT_*` variables."""

import os
import sys

from fastapi import FastAPI

from attract.server.app import build_app
from attract.server.learner_link import spawn_learner
from attract.server.memory import settle_memory
from attract.settings import ServerSettings


def create_app() -> FastAPI:
    """The app. Its admin token goes to stderr, for the address's fragment: `http://host:port/#token=...`.

    Start it with `--http attract.server.serving:HeaderDeadlineProtocol --ws websockets-sansio
    --ws-max-size 4259840 --ws-per-message-deflate false`: the limits that the gateway relies on.

    Raises: ConfigurationError: for a variable whose value cannot work.
    """
    settings = ServerSettings.from_environment(os.environ)
    app = build_app(settings, spawn_learner)
    settle_memory()
    base = (settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/")
    print(f"dashboard: {base}/#token={app.state.guard.admin_token}", file=sys.stderr, flush=True)
    return app
