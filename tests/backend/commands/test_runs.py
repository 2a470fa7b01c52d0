"""The table of `attract runs`: columns, curves, and what a narrow terminal lacks."""

from pathlib import Path

import pytest
from rich.console import Console

from attract.commands.runs import BARS, count_text, curve, find_runs, shortened_to, table_of
from attract.runs.catalogue import row_of
from attract.runs.indexed_run import IndexedRun
from attract.schema.run_list import RunLabels, RunList, RunRow
from attract.settings.run import ServerSettings
from indexed_runs import indexed, run_on_disk


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
