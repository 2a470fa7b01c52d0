"""Puts into a wheel what lies outside the package: skills, and the web side as it is built."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "ATTRACT_SKIP_WEB_BUILD"


class WebBuildHook(BuildHookInterface):
    """Runs for real wheels only; an editable install uses what `make build` left in the tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build with npm unless told to skip; mark the wheel as one for this platform."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        # They lie at the top of the repository, where coding agents look for them.
        build_data["force_include"][str(root / "skills")] = "attract/skills"
        if os.environ.get(SKIP):
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(f"a wheel carries the built pages: npm (Node 20+) or {SKIP}=1 is needed")
        if not (root / "node_modules").is_dir():
            subprocess.run([npm, "ci", "--silent"], cwd=root, check=True)
        subprocess.run([npm, "run", "--silent", "build"], cwd=root, check=True)
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
