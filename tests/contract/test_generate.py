"""The generated files are current, and the check notices when one is not."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "shared_schema"))

import generate  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, bytes]:
    out = tmp_path_factory.mktemp("generated")
    generate.generate(out)
    return generate.files_under(out)


def test_committed_files_are_current(made: dict[Path, bytes]):
    assert generate.differences(made, ROOT) == ([], [])


def test_a_changed_a_missing_and_a_leftover_file_are_each_named(made: dict[Path, bytes], tmp_path: Path):
    for path, content in made.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    assert generate.differences(made, tmp_path) == ([], [])
    types = Path("web/schema/src/messages.gen.ts")
    frame = Path("shared_schema/golden/server/from_browser.hello.bin")
    (tmp_path / types).write_bytes(made[types] + b"\n")
    (tmp_path / frame).unlink()
    shutil.copy(tmp_path / types, tmp_path / "shared_schema/golden/server/from_browser.gone.bin")
    assert generate.differences(made, tmp_path) == (
        [frame, types],
        [Path("shared_schema/golden/server/from_browser.gone.bin")],
    )
