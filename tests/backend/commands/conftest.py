"""Commands in this process have the variables of a user who has set none of ours."""

from pathlib import Path

import pytest

from attract.commands import serve
from attract.runs.directory import RunDirectory
from attract.settings.run import SERVER_VARIABLES, ServerSettings
from attract.settings.variables import SETTING_VARIABLES


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SERVER_VARIABLES, *SETTING_VARIABLES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServerSettings]:
    """Settings that `attract serve` was called with."""
    found: list[ServerSettings] = []

    async def serve_dashboard(settings: ServerSettings) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(serve, "serve_dashboard", serve_dashboard)
    return found


@pytest.fixture
def run_of_three(tmp_path: Path) -> Path:
    """A folder of runs; `walk` has the versions 0, 1 and 2."""
    directory = RunDirectory.create(tmp_path / "runs", "walk")
    directory.write_config("snake", {})
    for version in range(3):
        (directory.checkpoints / str(version)).mkdir()
    directory.mark("latest", 2)
    directory.close()
    return tmp_path / "runs"
