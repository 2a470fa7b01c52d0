"""A page of the list: what is found, in which order, with which columns."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from attract.errors import ConfigurationError, QueryError
from attract.run.index import Indexed
from attract.run.indexed_run import IndexedRun
from attract.run.run_list import KEEP_SECONDS, OwnSettings, differing, list_runs
from attract.schema.run_list import RunLabels, RunList, SettingValue
from attract.settings.given import Layer, LayeredSettings, join_layers
from indexed_runs import indexed

RUNS = [
    indexed("a", created="2026-11-20", episode_return_mean=2.0, settings={"ppo.gamma": 0.9, "seed": 1}),
    indexed("b", created="2026-11-22", episode_return_mean=None, settings={"ppo.gamma": 0.9, "seed": 2}),
    indexed("c", created="2026-11-21", episode_return_mean=9.0, settings={"ppo.target_kl": 0.02}),
    indexed("d", created="2026-11-23", episode_return_mean=5.0, labels=RunLabels(archived=True)),
    indexed("e", created="2026-11-24", updates=0, state="stopped"),
]


def listed(query: str = "", own: Mapping[str, SettingValue] | None = None, **options: object) -> RunList:
    return list_runs(Indexed(RUNS, 7), lambda _game: own or {}, query=query, **options)  # type: ignore[arg-type]


def ids(page: RunList) -> list[str]:
    return [run.run_id for run in page.runs]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-created", ["b", "c", "a"]),
        ("created", ["a", "c", "b"]),
        ("-return", ["c", "a", "b"]),
        ("return", ["a", "c", "b"]),
        ("id", ["a", "b", "c"]),
        ("-gamma", ["c", "b", "a"]),
        ("target_kl", ["c", "b", "a"]),
    ],
)
def test_runs_are_sorted_and_those_without_a_value_come_last(sort: str, order: list[str]):
    assert ids(listed(sort=sort)) == order


def test_hostile_an_integer_larger_than_any_float_is_sorted():
    runs = [indexed("a", settings={"seed": 1}), indexed("b", settings={"ppo.learning_rate": 10**400})]
    found = list_runs(Indexed(runs, 0), lambda _game: {}, query="lr>0", sort="-lr")
    assert ids(found) == ["b", "a"]


def test_runs_are_sorted_by_tags_and_those_without_come_last():
    tags = {"a": [], "b": ["Old"], "c": ["good", "new"]}
    runs = [indexed(name, labels=RunLabels(tags=own)) for name, own in tags.items()]
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, sort="tag")) == ["c", "b", "a"]


def test_a_page_has_the_rows_after_the_last_and_counts_all():
    first = listed(limit=2)
    assert (ids(first), first.next, first.num_found, first.num_unread) == (["b", "c"], "c", 3, 7)
    second = listed(limit=2, after=first.next)
    assert (ids(second), second.next) == (["a"], None)
    assert listed(limit=3).next is None
    with pytest.raises(QueryError, match=r"after: there is no row 'gone' in this list\n.*first page"):
        listed(after="gone")


def test_archived_and_empty_runs_are_counted_and_shown_when_asked_for():
    assert listed().num_hidden == 2
    assert ids(listed("is:archived")) == ["d"]
    assert ids(listed("is:empty")) == ["e"]
    assert ids(listed("is:all")) == ["e", "d", "b", "c", "a"]
    # Hidden runs that the search does not find are not counted.
    assert listed("return>4").num_hidden == 1


def test_columns_are_the_settings_that_differ_among_all_that_is_found():
    page = listed(limit=1)
    assert page.settings == ["ppo.gamma", "ppo.target_kl"]
    # The default of a run that has none of its own.
    assert page.runs[0].settings == {"ppo.gamma": 0.9, "ppo.target_kl": 0.03}
    assert listed("id:a").settings == []
    assert listed("gamma:0.9").settings == []
    assert differing([]) == []


def test_what_a_game_comes_with_is_no_change_and_taking_it_away_is_one():
    own: dict[str, SettingValue] = {"ppo.gamma": 0.9, "seed": 5}
    changed = {run.run_id: run.changed for run in listed(own=own).runs}
    assert changed == {"a": [], "b": [], "c": ["ppo.target_kl", "ppo.gamma"]}
    (row,) = listed("id:c", own=own).runs
    assert row.settings == {"ppo.target_kl": 0.02, "ppo.gamma": 0.99}


def test_own_settings_are_read_once_in_a_while_and_a_game_that_is_gone_has_none():
    asked: list[str] = []
    now = [0.0]

    def settings_of(game: str) -> LayeredSettings:
        asked.append(game)
        if game == "gone":
            raise ConfigurationError("no such game")
        if game == "\0":
            raise ValueError("embedded null byte")
        return join_layers(Layer({"ppo": {"gamma": 0.9}}))

    own = OwnSettings(settings_of, lambda: now[0])
    assert (own("snake"), own("snake"), own("gone"), own("\0")) == (
        {"ppo.gamma": 0.9},
        {"ppo.gamma": 0.9},
        {},
        {},
    )
    now[0] = KEEP_SECONDS + 1
    own("snake")
    assert asked == ["snake", "gone", "\0", "snake"]


def test_a_row_has_labels_numbers_and_progress():
    run: IndexedRun = indexed(
        "a",
        labels=RunLabels(name="N", note="x", tags=["t"], starred=True),
        return_best=6.0,
        sparkline=[1.0, 2.0],
    )
    (row,) = list_runs(Indexed([run], 0), lambda _game: {}).runs
    assert (row.name, row.note, row.tags, row.starred, row.archived) == ("N", "x", ["t"], True, False)
    assert (row.progress, row.return_best, row.sparkline, row.episode_return_mean) == (
        0.5,
        6.0,
        [1.0, 2.0],
        4.0,
    )


def test_a_failed_run_is_listed_without_an_update_and_comes_first_for_a_day() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    failed = {"state": "failed", "updates": 0}
    runs = [
        indexed("old", created="2026-11-01T10:00:00+00:00", **failed),
        indexed("late", created="2026-11-19T11:00:00+00:00", elapsed_seconds=7200.0, **failed),
        indexed("odd", created="yesterday", **failed),
        indexed("fine", created="2026-11-20T11:00:00+00:00"),
        indexed("empty", state="stopped", updates=0),
    ]
    found = list_runs(Indexed(runs, 0), lambda _game: {}, now=now)
    assert (ids(found), found.num_hidden) == (["late", "odd", "fine", "old"], 1)
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="state:failed", sort="id", now=now)) == [
        "late",
        "odd",
        "old",
    ]
    # What a term asks for is not hidden; what it rules out may be.
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="state:stopped", now=now)) == ["empty"]
    assert ids(list_runs(Indexed(runs, 0), lambda _game: {}, query="-state:failed", now=now)) == ["fine"]
