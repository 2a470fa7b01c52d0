"""What is said of a run that no process writes any more."""

from pathlib import Path

from attract.run.events import EventHub
from attract.run.record import RunRecord
from attract.runs.archive import RunArchive, evaluations_of
from attract.runs.directory import RunDirectory
from attract.runs.index import RunIndex
from known_runs import run_view


async def test_a_run_is_called_as_its_folder_is_now(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    directory.write_config("g", {"collection": {}})
    record = RunRecord(directory, EventHub())
    await record.keep_view(run_view())
    await record.close()
    directory.path.rename(tmp_path / "best-one")
    archive = RunArchive(tmp_path)
    assert archive.view("best-one").run_id == "best-one"
    assert [run.summary.run_id for run in RunIndex(archive).runs().runs] == ["best-one"]


def test_the_evaluations_of_a_version_are_read_from_its_metrics():
    values = {"eval/mean_reward": 4.0, "eval/std_reward": 0.5, "eval_sampled/mean_reward": 3.0}
    found = [
        (evaluation.deterministic, evaluation.return_mean, evaluation.return_std)
        for evaluation in evaluations_of(values)
    ]
    assert found == [(True, 4.0, 0.5), (False, 3.0, None)]
    assert evaluations_of({"time/fps": 1.0}) == []
