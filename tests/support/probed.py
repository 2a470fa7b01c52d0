"""A `PageProbe` for tests, with what they give of it."""

from typing import Any

from attract.schema.probe import PageProbe

STARTER: dict[str, Any] = {
    "kind": "none",
    "ticks": 0,
    "code": None,
    "x": None,
    "y": None,
    "selector": None,
    "text": None,
    "name": None,
}
CANDIDATES: dict[str, Any] = {
    name: [] for name in ("start", "moves", "press", "places", "score", "end", "restart")
}


def probed(**given: Any) -> PageProbe:
    """A page of which nothing was found but `given`; `candidates` may lack lists."""
    found: dict[str, Any] = {
        "title": "Game",
        "engine": None,
        "contracts": [],
        "starter": STARTER,
        "moves": [],
        "taps": False,
        "num_places": 0,
        "seen": [],
        "seen_numbers": [],
        "sees_pixels": False,
        "score": None,
        "end": None,
        "restart": None,
        "restarts_by_menu": False,
        "unheld": [],
        "errors": [],
        "listens": [],
        "cut": [],
        "unfinished": [],
        **given,
        "candidates": {**CANDIDATES, **given.get("candidates", {})},
    }
    return PageProbe.model_validate(found)
