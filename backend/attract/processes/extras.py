"""What a feature needs beside the base of the package: the extras of pyproject.toml."""

import importlib.util
import shutil
import sys
from typing import Final, Literal

from attract.errors import NotInstalledError

Extra = Literal["train", "tune", "ray"]
TRAIN: Final = ("torch", "onnx", "onnxruntime", "scipy", "tensorboardX")
MODULES: Final[dict[Extra, tuple[str, ...]]] = {
    "train": TRAIN,
    "tune": (*TRAIN, "optuna"),
    "ray": (*TRAIN, "ray"),
}
"""What each has to be able to import; what works without an extra imports none of them."""
CPU_BUILDS: Final = "https://download.pytorch.org/whl/cpu"


def check_installed(extra: Extra, asked_by: str) -> None:
    """Whether an extra is there; imports nothing, and is asked before any work.

    Raises: NotInstalledError: what `asked_by`, a command or a feature, needs is not installed.
    """
    missing = [name for name in MODULES[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise NotInstalledError(asked_by, missing, install_command(extra))


def install_command(extra: Extra) -> str:
    """The line that adds an extra to this environment; without a GPU of NVIDIA no gigabytes of CUDA."""
    is_small = sys.platform == "linux" and shutil.which("nvidia-smi") is None
    index = f" --extra-index-url {CPU_BUILDS}" if is_small else ""
    return f"{sys.executable} -m pip install 'attract-rl[{extra}]'{index}"
