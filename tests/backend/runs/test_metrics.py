import math
import os
import shutil
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import FileError
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.metrics import ClockStart
from known_runs import read_only_folder


def row(update: int, **values: float) -> UpdateRow:
    """Agent steps are 1000 x update and seconds update / 10: values that name themselves."""
    return UpdateRow(
        update=update,
        agent_steps=1000 * update,
        collected_steps=1001 * update,
        seconds=update / 10,
        policy_version=update,
        checkpoint=f"checkpoints/{update}",
        weights_sha256="0" * 64,
        values={name.replace("__", "/"): value for name, value in values.items()},
    )


@pytest.fixture
def store(tmp_path: Path):
    store = MetricsStore(tmp_path / "metrics.db")
    yield store
    store.close()


def lock(folder: Path) -> None:
    """Take away the right to write, also from the superuser."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65_534)


def test_a_run_in_a_read_only_folder_is_read():
    with read_only_folder() as folder:
        with closing(MetricsStore(folder / "metrics.db")) as store:
            store.commit_update(row(1, rollout__ep_rew_mean=20.5), {"view": {"state": "finished"}})
        lock(folder)
        with closing(MetricsStore(folder / "metrics.db")) as store:
            assert store.query("r").series[0].values == [20.5]
            assert store.fact("view") == {"state": "finished"}
            with pytest.raises(FileError, match="cannot be opened"):
                store.commit_update(row(2), {})


def test_a_run_that_was_not_closed_is_not_read_in_part_from_a_read_only_folder():
    with read_only_folder() as folder:
        with closing(MetricsStore(folder / "metrics.db")) as store:
            store.commit_update(row(1, rollout__ep_rew_mean=20.5), {})
            shutil.copytree(folder, folder / "copy")
        lock(folder / "copy")
        with pytest.raises(FileError, match="copy the run's folder"):
            MetricsStore(folder / "copy" / "metrics.db")


def test_a_committed_row_is_there_after_the_database_is_opened_again(tmp_path: Path, store: MetricsStore):
    store.commit_update(row(1, rollout__ep_rew_mean=20.5), {"view": {"state": "running"}})
    again = MetricsStore(tmp_path / "metrics.db")
    view = again.query("r")
    series = view.series[0]
    assert (series.name, series.values, series.low, series.high) == (
        "rollout/ep_rew_mean",
        [20.5],
        None,
        None,
    )
    assert (view.agent_steps, view.seconds) == ([1000.0], [0.1])
    assert again.fact("view") == {"state": "running"}
    assert again.fact("nothing") is None
    again.close()


def test_D1_a_row_is_committed_whole_or_not_at_all(store: MetricsStore):
    store.commit_update(row(1, a=1.0), {"view": 1})
    with pytest.raises(Exception, match="UNIQUE"):
        store.commit_update(row(1, a=2.0, b=2.0), {"view": 2})
    assert store.names() == ["a"]
    assert store.fact("view") == 1


def test_downsampling_gives_mean_and_extremes_of_buckets_of_equal_count(store: MetricsStore):
    for update in range(1, 11):
        store.commit_update(row(update, a=100.0 if update == 7 else float(update)), {})
    view = store.query("r", ["a"], max_points=2)
    series = view.series[0]
    # Updates 1..5 and 6..10; the spike at 7 shows in `high`: (6 + 100 + 8 + 9 + 10) / 5 = 26.6.
    assert series.values == [3.0, pytest.approx(26.6)]
    assert (series.low, series.high) == ([1.0, 6.0], [5.0, 100.0])
    assert view.agent_steps == [3000.0, 8000.0]
    assert view.seconds == [pytest.approx(0.3), pytest.approx(0.8)]


def test_series_share_one_axis_and_say_where_on_it_they_are(store: MetricsStore):
    for update in range(1, 5):
        rare = {"eval": 10.0 * update} if update in (2, 4) else {}
        # An update that tells nothing is nowhere on the axis.
        store.commit_update(row(update, **({} if update == 3 else {"a": float(update)}), **rare), {})
    view = store.query("r")
    a, rare = view.series
    assert view.agent_steps == [1000.0, 2000.0, 4000.0]
    assert (a.at, a.values) == (None, [1.0, 2.0, 4.0])
    assert (rare.at, rare.values, view.steps_of("eval")) == ([1, 2], [20.0, 40.0], [2000.0, 4000.0])
    # Alone, it needs no more of the axis than it is on.
    alone = store.query("r", ["eval"])
    assert (alone.agent_steps, alone.seconds, alone.series[0].at) == ([2000.0, 4000.0], [0.2, 0.4], None)


def test_each_place_of_the_axis_has_its_updates_and_the_episodes_until_then(store: MetricsStore):
    for update in range(1, 7):
        store.commit_update(row(update, a=update, rollout__episodes=10 * update), {})
    view = store.query("r", ["a"], from_steps=3000, max_points=2)
    # Updates 3, 4 and 5, 6; the episodes before them count: 10 + 20 + 30 + 40 = 100, and 50 + 60 more.
    assert (view.updates, view.episodes) == ([3.5, 5.5], [100.0, 210.0])


def test_the_clock_is_what_was_kept(store: MetricsStore):
    store.commit_update(row(1, a=1), {"clock": [{"seconds": 0.1, "unix_seconds": 1000.0}]})
    assert store.query("r").clock == [ClockStart(seconds=0.1, unix_seconds=1000.0)]


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60),
    st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted),
    st.integers(1, 70),
)
@settings(max_examples=60, deadline=None)
def test_every_point_of_any_range_is_the_brute_force_of_its_rows(
    values: list[float], span: list[int], max_points: int
):
    first, last = (bound % len(values) for bound in span) if span[0] % 2 else (0, len(values) - 1)
    first, last = min(first, last), max(first, last)
    with tempfile.TemporaryDirectory() as folder, closing(MetricsStore(Path(folder) / "m.db")) as store:
        for update, value in enumerate(values):
            store.commit_update(row(update, a=value), {})
        view = store.query("r", ["a"], from_steps=1000 * first, to_steps=1000 * last, max_points=max_points)
        whole = store.query("r", ["a"], max_points=max_points).series[0]
        assert store.curve("a", max_points) == whole
    (series,) = view.series
    num = last - first + 1
    place = np.arange(num) * min(max_points, num) // num
    buckets = [np.asarray(values[first : last + 1])[place == bucket] for bucket in range(place[-1] + 1)]
    lows, highs = series.low or series.values, series.high or series.values
    for found, expected in (
        (lows, [part.min() for part in buckets]),
        (highs, [part.max() for part in buckets]),
        (series.values, [part.mean() for part in buckets]),
        (
            view.agent_steps,
            [1000 * (first + np.flatnonzero(place == at).mean()) for at in range(len(buckets))],
        ),
    ):
        # Half of the sixth digit; a mean near zero of large values is not exact.
        np.testing.assert_allclose(found, expected, rtol=5e-6, atol=1e-7)


def test_the_curve_of_a_run_without_updates_or_without_the_metric_is_empty(store: MetricsStore):
    assert store.curve("a", 60).values == []
    store.commit_update(row(1, b=1.0), {})
    assert store.curve("a", 60).values == []


def test_thinned_values_have_the_digits_that_a_chart_can_show(store: MetricsStore):
    for update in range(1, 5):
        store.commit_update(row(update, a=update / 3), {})
    assert store.query("r", ["a"]).series[0].values[0] == 1 / 3
    # (1/3 + 2/3) / 2 and (3/3 + 4/3) / 2.
    series = store.query("r", ["a"], max_points=2).series[0]
    assert (series.values, series.low) == ([0.5, 1.16667], [0.333333, 1.0])


def test_a_run_without_updates_has_an_empty_axis(store: MetricsStore):
    view = store.query("r", ["a"])
    assert (view.agent_steps, view.series[0].values) == ([], [])


def test_range_is_in_agent_steps_with_both_ends_in_it(store: MetricsStore):
    for update in range(1, 11):
        store.commit_update(row(update, a=float(update)), {})
    assert store.query("r", ["a"], from_steps=3000, to_steps=5000).series[0].values == [3.0, 4.0, 5.0]


def test_never_more_points_than_asked_for(store: MetricsStore):
    for update in range(1, 1001):
        store.commit_update(row(update, a=float(update)), {})
    series = store.query("r", ["a"], max_points=300).series[0]
    assert len(series.values) == 300
    assert series.low is not None
    assert series.high is not None
    assert (min(series.low), max(series.high)) == (1.0, 1000.0)


def test_unknown_names_are_empty_series_and_all_names_are_told(store: MetricsStore):
    store.commit_update(row(1, b=1.0, a=2.0), {})
    view = store.query("r", ["c"])
    assert view.names == ["a", "b"]
    assert (view.series[0].name, view.series[0].values) == ("c", [])


def test_numbers_that_are_not_finite_are_left_out(store: MetricsStore):
    store.commit_update(row(1, a=math.nan, b=math.inf, c=1.0), {})
    assert store.names() == ["c"]


def test_D2_a_resumed_run_forgets_updates_it_will_do_anew(store: MetricsStore):
    for update in range(1, 5):
        store.commit_update(row(update, a=float(update)), {})
    store.rewind(2)
    assert (store.last_update(), store.last_seconds()) == (2, pytest.approx(0.2))
    assert store.query("r", ["a"]).series[0].values == [1.0, 2.0]
    store.commit_update(row(3, a=30.0), {})
    assert store.query("r", ["a"]).series[0].values == [1.0, 2.0, 30.0]


def test_rows_come_whole_and_in_order_without_those_that_have_no_metrics(store: MetricsStore):
    store.commit_update(row(0), {})
    store.commit_update(row(2, a=2.0, b=20.0), {})
    store.commit_update(row(1, a=1.0), {})
    assert store.rows() == [(1, 1000, {"a": 1.0}), (2, 2000, {"a": 2.0, "b": 20.0})]


def test_metrics_added_later_join_their_update(store: MetricsStore):
    store.commit_update(row(1, a=1.0), {})
    store.add_metrics(1, {"eval/mean_reward": 480.0, "bad": math.nan})
    store.add_metrics(1, {"eval/mean_reward": 490.0})
    assert store.query("r", ["eval/mean_reward"]).series[0].values == [490.0]


def test_events_after_an_id_come_in_order_and_ids_only_grow(store: MetricsStore):
    ids = [store.add_event("status", f'{{"n":{n}}}').id for n in range(5)]
    assert ids == sorted(set(ids))
    assert [event.data for event in store.events_after(ids[2])] == ['{"n":3}', '{"n":4}']
    assert [event.id for event in store.events_after(0, limit=2)] == ids[3:]
    assert store.last_event_id() == ids[-1]


def test_each_thread_has_a_connection_and_all_are_closed(tmp_path: Path, store: MetricsStore):
    thread = threading.Thread(target=store.add_event, args=("status", "{}"))
    thread.start()
    thread.join()
    assert len(store._connections) == 2
    store.close()
    # The last connection of a database removes its log.
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.db"]
    assert store.last_event_id() == 1
