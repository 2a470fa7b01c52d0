"""How uvicorn must be run for the gateway: the options that its limits rely on."""

from attract.settings import ServerSettings


def uvicorn_options(settings: ServerSettings) -> dict[str, object]:
    """Keyword arguments for `uvicorn.Config` that the gateway relies on."""
    return {
        "ws": "websockets-sansio",
        "ws_per_message_deflate": False,
        "ws_max_size": settings.max_frame_bytes,
        "ws_ping_interval": 20.0,
        "ws_ping_timeout": 20.0,
        "timeout_graceful_shutdown": 5,
        "server_header": False,
        "date_header": False,
    }
