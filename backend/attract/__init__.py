"""Attract: trains an agent to play a browser game, in browsers."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from attract.runs.loading import load_run

__version__ = "0.1.0"
__all__ = ["__version__", "load_run"]

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""ONNX Runtime reads it when it is loaded; else it reports its use to its makers, here and in children."""


def __getattr__(name: str) -> object:
    """`load_run`, without which a mere `import attract` reads no more than this file."""
    if name != "load_run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attract.runs.loading import load_run

    return load_run
