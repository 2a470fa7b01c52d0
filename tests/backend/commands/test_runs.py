"""`attract runs`, `metrics`, `rollback` and `report`: what they print of the runs in a folder."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from attract.commands.json_output import MAX_ANSWER_BYTES, json_text
from attract.commands.metrics import metrics_lines, run_metrics
from attract.commands.runs import BARS, count_text, curve, find_runs, shortened_to, table_of
from attract.errors import ConfigurationError, DamagedRunError
from attract.runs.catalogue import row_of
from attract.runs.directory import RunDirectory
from attract.runs.indexed_run import IndexedRun
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.run_list import RunLabels, RunList, RunRow
from attract.settings.run import ServerSettings
from known_runs import indexed, run_on_disk


def row(run: IndexedRun) -> RunRow:
    return row_of(run, {}, [])


ROWS = [
    row(indexed("a", return_best=6.5, sparkline=[1.0, 2.0, 8.0], settings={"ppo.gamma": 0.9}, preset="reflex",
                labels=RunLabels(name="Best", tags=["good"], starred=True))),
    row(indexed("b", state="running", error=None, agent_steps=1_234_567, total_steps=2_469_134)),
    row(indexed("c", state="damaged", episode_return_mean=None, error="metrics.db: is damaged\x1b[2J")),
]  # fmt: skip


def printed(width: int) -> list[str]:
    console = Console(width=width, file=None, color_system=None)
    with console.capture() as captured:
        console.print(table_of(ROWS, width))
    return captured.get().splitlines()


def test_a_row_has_all_that_the_page_shows():
    head, first, second, third = printed(300)
    assert head.split() == ["run", "game", "state", "return", "best", "eval", "curve", "steps", "time",
                            "labels", "changed", "settings"]  # fmt: skip
    assert first.split() == ["a", "Snake", "finished", "4", "6.5", "-", "▁▂█", "1,000", "0:07",
                             "*", "Best", "#good", "preset", "reflex,", "gamma", "0.9"]  # fmt: skip
    assert second.split()[:4] == ["b", "Snake", "running", "50%"]
    assert "1,234,567" in second
    # What a damaged file says cannot move the cursor.
    assert r"metrics.db: is damaged\x1b[2J" in third


@pytest.mark.parametrize("width", range(40, 200, 7))
def test_a_narrow_terminal_lacks_columns_and_cuts_no_number(width: int):
    lines = printed(width)
    assert len(lines) == 1 + len(ROWS)
    assert max(map(len, lines)) <= width
    assert "1,234,567" in lines[2]
    assert lines[1].split()[0] == "a"


def test_a_curve_goes_from_its_smallest_to_its_largest_value():
    assert curve([]) == ""
    assert curve([5.0, 5.0]) == BARS[0] * 2
    assert curve([float(value) for value in range(8)]) == BARS
    assert curve([0.0] * 50 + [1.0]) == BARS[0] * 15 + BARS[-1]
    assert curve([-1e308, 1e308]) == BARS[0] * 2


def test_a_text_is_cut_with_a_mark():
    assert (shortened_to("abc", 3), shortened_to("abcd", 3)) == ("abc", "ab…")


def test_the_count_says_what_is_left_out():
    found = RunList(runs=ROWS, num_found=9, num_hidden=2, next="c", settings=[])
    assert count_text(found) == "3 of 9 runs, 2 hidden (archived or without an update; show them by is:all)"
    assert count_text(RunList(runs=ROWS, num_found=3, num_hidden=0, settings=[])) == "3 runs"


def test_all_runs_are_read_however_long_it_takes(tmp_path: Path):
    for number in range(60):
        run_on_disk(tmp_path, f"run-{number}", [float(number)])
    server = ServerSettings.from_mapping({"runs_dir": tmp_path, "project_dir": tmp_path})
    found = find_runs(server, "", "-best", 2)
    assert ([run.run_id for run in found.runs], found.num_found) == (["run-59", "run-58"], 60)
    assert find_runs(ServerSettings.from_mapping({"runs_dir": tmp_path / "none"}), "", "id", 5).runs == []


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


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a run, `r`, without an update."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "config.yaml").write_text("game: cartpole\nsettings: {}\n")
    return tmp_path


def fill(runs: Path, num_updates: int, **values: float) -> None:
    """Each metric grows by its value from update to update, from 0; agent steps are 100 x update."""
    store = MetricsStore(runs / "r" / "metrics.db")
    for update in range(1, num_updates + 1):
        store.commit_update(
            UpdateRow(
                update=update,
                agent_steps=100 * update,
                collected_steps=100 * update,
                seconds=update / 10,
                policy_version=update,
                checkpoint=f"checkpoints/{update}",
                weights_sha256="0" * 64,
                values={name.replace("__", "/"): (update - 1) * by for name, by in values.items()},
            ),
            {},
        )
    store.close()


def test_all_metrics_are_said_without_values(runs: Path) -> None:
    fill(runs, 5, rollout__ep_rew_mean=2.0, loss=-1 / 3)
    answer = json.loads(json_text(run_metrics(runs, "r")))
    assert answer == {
        "run_id": "r",
        "agent_steps": 500,
        "axis": None,
        "metrics": {
            "loss": {"first": 0.0, "last": -1.33333, "low": -1.33333, "high": 0.0, "values": None},
            "rollout/ep_rew_mean": {"first": 0.0, "last": 8.0, "low": 0.0, "high": 8.0, "values": None},
        },
        "left_out": [],
    }


def test_metrics_that_are_named_have_values_on_one_axis(runs: Path) -> None:
    fill(runs, 40, rollout__ep_rew_mean=1.0, loss=1.0)
    answer = run_metrics(runs, "r", ("rollout/*",))
    assert list(answer.metrics) == ["rollout/ep_rew_mean"]
    # Twenty buckets of two updates: 100 x 1.5, and values 0 and 1.
    assert answer.axis is not None and answer.axis[:2] == [150, 350]
    assert answer.metrics["rollout/ep_rew_mean"].values == [2 * i + 0.5 for i in range(20)]
    few = run_metrics(runs, "r", ("loss",), points=4)
    assert few.metrics["loss"].values == [4.5, 14.5, 24.5, 34.5]
    # What is between is no value of an update; the extremes are.
    assert (few.metrics["loss"].first, few.metrics["loss"].high) == (0, 39)
    text = "\n".join(metrics_lines(few))
    assert "r: 4,000 agent steps" in text
    assert "loss: 0 -> 39  (between 0 and 39)\n    4.5 14.5 24.5 34.5" in text
    assert "values at agent steps 550 1,550 2,550 3,550" in text


def test_a_long_answer_names_what_it_leaves_out(runs: Path) -> None:
    fill(runs, 3, **{f"metric{i:03}": 0.123456 for i in range(300)})
    answer = run_metrics(runs, "r")
    assert len(json_text(answer)) <= MAX_ANSWER_BYTES
    assert 10 < len(answer.metrics) < 290
    assert [*answer.metrics, *answer.left_out] == [f"metric{i:03}" for i in range(300)]
    assert run_metrics(runs, "r", points=0).left_out == []


def test_an_answer_about_very_many_metrics_is_short_too(runs: Path) -> None:
    fill(runs, 30, **{f"a_metric_with_a_long_name_{i:04}": 0.123456 for i in range(600)})
    answer = run_metrics(runs, "r", ("*",))
    assert len(json_text(answer)) <= MAX_ANSWER_BYTES
    assert len(answer.metrics) > 5
    # Half of 8,000 bytes, 33 for each name with its quotes and its comma: 30 characters.
    assert len(answer.left_out) == 4_000 // 33 + 1
    assert answer.left_out[-1] == f"and {600 - len(answer.metrics) - 4_000 // 33} more"
    assert len(run_metrics(runs, "r", points=0).metrics) == 600


def test_hostile_a_name_of_a_metric_stays_in_its_line(runs: Path) -> None:
    fill(runs, 2, **{"game/x\x1b[31m\n  forged: 1": 1.0})
    assert metrics_lines(run_metrics(runs, "r"))[1:] == [
        "  game/x\\x1b[31m\\n  forged: 1: 0 -> 1  (between 0 and 1)"
    ]


def test_a_run_without_an_update_has_none(runs: Path) -> None:
    answer = run_metrics(runs, "r")
    assert (answer.agent_steps, answer.metrics) == (None, {})
    assert metrics_lines(answer) == ["r: no update yet"]
    assert not (runs / "r" / "metrics.db").exists()


def test_what_is_not_there_is_named(runs: Path) -> None:
    fill(runs, 1, loss=1.0)
    with pytest.raises(ConfigurationError, match="no run gone"):
        run_metrics(runs, "gone")
    with pytest.raises(ConfigurationError, match="no metric 'los'\n  did you mean loss"):
        run_metrics(runs, "r", ("los",))
    (runs / "r" / "metrics.db").write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedRunError, match=r"metrics\.db"):
        run_metrics(runs, "r")
