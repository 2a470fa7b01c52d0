"""The environment of one who installed Attract without extras, although this one has them all."""

import os
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def packages(requirements: Iterable[str]) -> set[str]:
    """The names of packages in a list of requirements."""
    lines = (line for line in requirements if line.strip() and not line.startswith("#"))
    return {canonicalize_name(Requirement(line).name) for line in lines}


def base_packages() -> set[str]:
    """What `pip install attract-rl` installs, with all that these packages need themselves."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in PROJECT["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            extras = requirement.extras or {""}
            needed = map(Requirement, requires(name) or ())
            waiting += [
                needs
                for needs in needed
                if needs.marker is None or any(needs.marker.evaluate({"extra": extra}) for extra in extras)
            ]
    return found


def environment_without_extras(folder: Path) -> dict[str, str]:
    """Variables with which Python, and each of its children, can import the base alone.

    Args:
        folder: where the file lies that does it; empty.
    """
    there = base_packages()
    refused = sorted(
        module
        for module, owners in packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, owners)) and PROJECT["name"] not in owners
    )
    assert {"torch", "onnx", "onnxruntime", "scipy", "uvloop", "optuna"} <= {*refused}
    # As if they were not installed: `find_spec` finds none, and an import is refused.
    text = f"import sys\nsys.modules.update(dict.fromkeys({refused!r}))\n"
    (folder / "sitecustomize.py").write_text(text)
    paths = [str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
