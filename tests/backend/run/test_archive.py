"""What is said of a run that no process writes any more."""

from datetime import datetime
from pathlib import Path

from attract.run.archive import RunArchive
from attract.run.events import EventHub
from attract.run.index import RunIndex
from attract.run.record import RunRecord
from attract.runs.directory import RunDirectory
from attract.schema.metrics import ClockStart
from run_views import run_view


async def test_a_run_is_called_as_its_folder_is_now(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"collection": {}})
    record = RunRecord(directory, EventHub())
    await record.keep_view(run_view())
    await record.close()
    directory.path.rename(tmp_path / "best-one")
    archive = RunArchive(tmp_path)
    assert archive.view("best-one").run_id == "best-one"
    assert [run.summary.run_id for run in RunIndex(archive, str.title).runs().runs] == ["best-one"]


async def test_a_run_of_an_earlier_version_began_when_it_was_made(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"collection": {}})
    made = datetime.fromisoformat(str(directory.read_config()["created"])).timestamp()
    view = RunArchive(tmp_path).metrics("r", None, from_steps=None, to_steps=None, max_points=10)
    assert view.clock == [ClockStart(seconds=0.0, unix_seconds=made)]
