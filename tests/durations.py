"""How long the tests of the last `make test` took: `build/durations.json`, and its longest on the terminal.

pytest's come from `tests/conftest.py`, Vitest's from its reporter `json`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parents[1] / "build"
PYTEST, VITEST = BUILD / "durations.pytest.json", BUILD / "durations.vitest.json"


def tests() -> dict[str, dict[str, float]]:
    """Seconds by test and by phase: `setup`, `call`, `teardown`."""
    found: dict[str, dict[str, float]] = json.loads(PYTEST.read_text()) if PYTEST.exists() else {}
    report: dict[str, Any] = json.loads(VITEST.read_text()) if VITEST.exists() else {"testResults": []}
    for file in report["testResults"]:
        path = Path(file["name"]).relative_to(BUILD.parent)
        for test in file["assertionResults"]:
            found[f"{path}::{test['fullName']}"] = {"call": (test.get("duration") or 0.0) / 1000.0}
    return found


def main(count: int = 50) -> None:
    """Writes all durations, longest first, and prints the longest files and tests."""
    by_test = dict(sorted(tests().items(), key=lambda item: -sum(item[1].values())))
    by_file: defaultdict[str, float] = defaultdict(float)
    for name, phases in by_test.items():
        by_file[name.partition("::")[0]] += sum(phases.values())
    files = dict(sorted(by_file.items(), key=lambda item: -item[1]))
    (BUILD / "durations.json").write_text(json.dumps({"files": files, "tests": by_test}, indent=1))
    print(f"{sum(files.values()):.0f} s in {len(by_test)} tests of {len(files)} files; the longest files:")
    for name, seconds in list(files.items())[:count]:
        print(f"{seconds:7.1f} s  {name}")
    print("the longest tests (set-up apart):")
    for name, phases in list(by_test.items())[:count]:
        print(f"{phases.get('call', 0.0):7.1f} s + {phases.get('setup', 0.0):5.1f} s  {name}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
