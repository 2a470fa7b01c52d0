"""Games stepped from Python in groups (rules I1, I2, I3): for your own code, and for central inference.

`core` steps the groups; `environments` has the forms of libraries, `serving` the process of the server.
`VectorEnvironment` is the environment itself. The others give it to libraries, which are imported when they
are asked for: `GymnasiumEnv`, `GymnasiumVectorEnv`, `PettingZooEnv`, `Sb3VecEnv`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from attract.errors import ConfigurationError
from attract.vector.batch import StepBatch
from attract.vector.environments.environment import VectorEnvironment

if TYPE_CHECKING:
    from attract.vector.environments.gymnasium_environment import GymnasiumEnv, GymnasiumVectorEnv
    from attract.vector.environments.pettingzoo_environment import PettingZooEnv
    from attract.vector.environments.sb3_environment import Sb3VecEnv

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
        return getattr(importlib.import_module(f"{__name__}.environments.{module}"), name)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"attract.vector.{name} needs {error.name}, which is not installed",
            fix=f"pip install {package}",
        ) from None
