"""Games as vectorised environments, for code that decides for itself (rules I1, I2, I3).

`VectorEnvironment` is the environment itself. The others give it to libraries, which are imported when they
are asked for: `GymnasiumEnv`, `GymnasiumVectorEnv`, `PettingZooEnv`, `Sb3VecEnv`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from attract.errors import ConfigurationError
from attract.vector.batch import StepBatch
from attract.vector.environment import VectorEnvironment

if TYPE_CHECKING:
    from attract.vector.gymnasium_environment import GymnasiumEnv, GymnasiumVectorEnv
    from attract.vector.pettingzoo_environment import PettingZooEnv
    from attract.vector.sb3_environment import Sb3VecEnv

__all__ = [
    "GymnasiumEnv",
    "GymnasiumVectorEnv",
    "PettingZooEnv",
    "Sb3VecEnv",
    "StepBatch",
    "VectorEnvironment",
]

_OF_LIBRARIES: Final = {
    "GymnasiumEnv": ("gymnasium_environment", "gymnasium"),
    "GymnasiumVectorEnv": ("gymnasium_environment", "gymnasium"),
    "PettingZooEnv": ("pettingzoo_environment", "pettingzoo"),
    "Sb3VecEnv": ("sb3_environment", "stable-baselines3"),
}


def __getattr__(name: str) -> Any:
    """Import what needs another library. Raises: ConfigurationError: that is not installed."""
    if name not in _OF_LIBRARIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package = _OF_LIBRARIES[name]
    try:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"attract.vector.{name} needs {error.name}, which is not installed",
            fix=f"pip install {package}",
        ) from None
