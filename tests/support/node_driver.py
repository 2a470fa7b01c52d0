"""Our TypeScript run in Node on what a test hands it: a bundled driver script, JSON in, JSON out."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
BUNDLE_SECONDS = 60.0
RUN_SECONDS = 120.0


def bundle_driver(
    driver: str, folder: Path, *, aliases: dict[str, Path] | None = None
) -> Callable[[Any], Any]:
    """Bundle `tests/contract/<driver>` into `folder`, once.

    Returns: runs it as `node driver.mjs IN OUT` with the given value as IN's JSON; what it wrote to OUT.
    Raises: subprocess.CalledProcessError: by either, with what esbuild or the driver said on stderr.
    """
    script = folder / "driver.mjs"
    imports = {"attract": REPOSITORY / "web/sdk/src/index.ts"} if aliases is None else aliases
    bundle: list[str | Path] = [
        REPOSITORY / "node_modules/.bin/esbuild",
        REPOSITORY / "tests/contract" / driver,
        "--bundle",
        "--platform=node",
        "--format=esm",
        "--log-level=error",
        *(f"--alias:{name}={path}" for name, path in imports.items()),
        f"--outfile={script}",
    ]
    subprocess.run(bundle, check=True, cwd=REPOSITORY, timeout=BUNDLE_SECONDS)

    def run(order: Any) -> Any:
        (folder / "in.json").write_text(json.dumps(order))
        command = ["node", script, folder / "in.json", folder / "out.json"]
        subprocess.run(command, check=True, timeout=RUN_SECONDS)
        return json.loads((folder / "out.json").read_text())

    return run
