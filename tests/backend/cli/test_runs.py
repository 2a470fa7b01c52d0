"""What `attract runs`, `eval`, `export`, `rollback` and `report` are called with, and what they say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import evaluate, export
from attract.commands.evaluate import EvaluateOptions
from attract.commands.export import Exported
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.schema.run_list import RunList
from attract.settings.run import ServerSettings
from indexed_runs import run_on_disk


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


@pytest.fixture
def listed_runs(tmp_path: Path) -> Path:
    run_on_disk(tmp_path, "slow", settings={"ppo": {"learning_rate": 0.0001}}, created="2026-11-20")
    run_on_disk(tmp_path, "best", [9.0], episode_return_mean=9.0, created="2026-11-21")
    run_on_disk(tmp_path, "empty", [], created="2026-11-22")
    return tmp_path


def test_runs_prints_what_is_found_in_order(
    attract: Callable[..., object], listed_runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attract("runs", "--sort", "-return", "--runs-dir", str(listed_runs)) == 0
    head, best, slow, count = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["run", "game", "state", "return"]
    assert best.split()[:5] == ["best", "Snake", "finished", "9", "9"]
    assert "learning_rate 0.0001" in slow
    assert count == "2 runs, 1 hidden (archived or without an update; show them by is:all)"


def test_runs_in_json_are_the_object_of_the_api(
    attract: Callable[..., object], listed_runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("runs", "lr<0.001", "is:all", "--json", "--limit", "1", "--runs-dir", str(listed_runs))
    assert attract(*words) == 0
    found = RunList.model_validate_json(capsys.readouterr().out)
    assert ([row.run_id for row in found.runs], found.num_found, found.next) == (["slow"], 1, None)


def test_hostile_a_run_from_elsewhere_moves_no_cursor(
    attract: Callable[..., object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # CSI as one character, and a right-to-left override: JSON may have both as they are.
    name = "\x9b31m\u202e"
    path = run_on_disk(tmp_path, "r", title=name)
    (path / "labels.json").write_text(json.dumps({"note": name}))
    store = MetricsStore(path / "metrics.db")
    store.add_metrics(1, {f"game/{name}\x1b[2J": 1.0})
    store.close()
    assert attract("runs", "--runs-dir", str(tmp_path)) == 0
    assert attract("runs", "--json", "--runs-dir", str(tmp_path)) == 0
    assert attract("metrics", "r", "--runs-dir", str(tmp_path)) == 0
    assert attract("metrics", "r", "--json", "--runs-dir", str(tmp_path)) == 0
    assert attract("metrics", "r", "gone", "--runs-dir", str(tmp_path)) == 2
    said = capsys.readouterr()
    assert "\\x9b31m" in said.out and "\\x9b31m" in said.err
    assert [mark for mark in said.out + said.err if not mark.isprintable() and mark != "\n"] == []


def test_a_search_that_cannot_be_read_is_wrong_usage(
    attract: Callable[..., object], listed_runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attract("runs", "retrun>3", "--runs-dir", str(listed_runs)) == 2
    out, error = capsys.readouterr()
    assert (out, "character 1" in error, "did you mean return?" in error) == ("", True, True)


def test_rollback_says_the_version_that_is_left(
    attract: Callable[..., object], run_of_three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attract("rollback", "latest", "--to-version", "1", "--runs-dir", str(run_of_three)) == 0
    assert capsys.readouterr().out == (
        "run walk is at version 1; continue with `attract train --resume --run-id walk`\n"
    )
    assert RunDirectory.view(run_of_three, "walk").versions() == [0, 1]


def test_report_says_what_it_wrote(
    attract: Callable[..., object], run_of_three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "trouble.zip"
    assert attract("report", "walk", "--out", str(out), "--runs-dir", str(run_of_three)) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"wrote {out}"
    assert out.is_file()


def test_eval_leaves_to_the_run_what_was_not_given(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, run_of_three: Path
) -> None:
    evaluated: list[tuple[EvaluateOptions, ServerSettings]] = []

    async def evaluate_run(order: EvaluateOptions, server: ServerSettings) -> int:
        evaluated.append((order, server))
        return 0

    monkeypatch.setattr(evaluate, "evaluate_run", evaluate_run)
    assert attract("eval", "walk", "--runs-dir", str(run_of_three)) == 0
    assert attract("eval", "walk", "--episodes", "4", "--seed", "5", "--no-deterministic", "--json") == 0
    (plain, server), (options, _) = evaluated
    assert plain == EvaluateOptions("walk", None, None, None, False, None)
    assert (server.runs_dir, server.port) == (run_of_three, 0)
    assert options == EvaluateOptions("walk", 4, 5, False, True, None)


def test_export_names_its_files_as_the_folder_was_given(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def export_run(run: str, out: Path, *_: object, **__: object) -> Exported:
        return Exported(run_id="walk", version=7, written=[out / "policy.onnx"], left_out=[])

    monkeypatch.setattr(export, "export_run", export_run)
    monkeypatch.chdir(tmp_path)
    assert attract("export", "latest", "--out", "public", "--format", "js") == 0
    output = capsys.readouterr().out
    assert output.startswith("wrote public/policy.onnx and public/policy.json (run walk, version 7)\n")
    assert 'import { loadAgent } from "./public/agent.js";' in output
    assert "http.server" not in output
    assert attract("export", "latest", "--out", "public", "--page") == 0
    assert "python3 -m http.server --directory public 8000" in capsys.readouterr().out
    assert attract("export", "latest", "--out", "my site", "--page") == 0
    assert "python3 -m http.server --directory 'my site' 8000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["walk", "--replay", "one.json", "--page"], "without a run's policy"),
        (["--replay", "one.json"], "without a run's policy"),
        (["--replay", "one.json", "--page", "--format", "js"], "without a run's policy"),
        (["--replay", "one.json", "--page", "--version", "3"], "without a run's policy"),
        (["--replay", "walk", "--page", "--worst", "--best"], "--worst --best: one at a time"),
        (["--page"], "which run"),
        (["walk", "--page", "--worst"], "--worst is of a recorded episode"),
    ],
)
def test_export_is_of_a_run_or_of_an_episode(
    attract: Callable[..., object], capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert attract("export", "--out", "public", *words) == 2
    assert said in capsys.readouterr().err
