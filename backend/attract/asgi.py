"""The gateway for `uvicorn --factory attract.asgi:create_app`; settings come from `ATTRACT_*` variables."""

import os
import sys

from fastapi import FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from attract.processes.children import spawn_learner
from attract.runs.log_lines import show_logs
from attract.server.app import build_app
from attract.server.app_server import settle_memory
from attract.server.links import dashboard_url
from attract.settings.run import ServerSettings


def create_app() -> FastAPI:
    """The app. Its admin token goes to stderr, for the address's fragment: `http://host:port/#token=...`.

    The address is `ATTRACT_PUBLIC_URL`, or that of `ATTRACT_HOST` and `ATTRACT_PORT`: uvicorn does not tell
    an app where it listens. Forwarded headers count from `ATTRACT_BEHIND_PROXY`. Limits of what no app ever
    sees, such as unfinished headers and pings, need uvicorn's flags in docs/operating.md.

    Raises: ConfigurationError: for a variable whose value cannot work.
    """
    settings = ServerSettings.from_environment(os.environ)
    if {"log_format", "log_level"} & settings.model_fields_set:
        show_logs(settings.log_format, settings.log_level)
    app = build_app(settings, spawn_learner)
    settle_memory()
    if settings.behind_proxy:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.behind_proxy))
    base = settings.public_url or f"http://{settings.host}:{settings.port}"
    lines = (
        f"dashboard: {dashboard_url(settings, base, app.state.guard.admin_token)}",
        "  `attract serve` limits slow headers, pings and large frames; uvicorn does only with --http"
        " attract.server.serving:HeaderDeadlineProtocol --ws attract.server.serving:MeteredSocketProtocol",
    )
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    return app
