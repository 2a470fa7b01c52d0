import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attract.runs import thinning
from attract.runs.metrics import MetricsStore, UpdateRow

BATCH = 20
"""Updates between two calls, as of the run's record."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MetricsStore]:
    store = MetricsStore(tmp_path / "metrics.db")
    yield store
    store.close()


def shape(update: int) -> float:
    """A curve with two spikes that no mean would show."""
    return {777: 1e6, 9_003: -1e6}.get(update, 100.0 * math.sin(update / 1000.0))


def write(store: MetricsStore, updates: range, **more: Any) -> None:
    """What `commit_update` writes, many at once; `loss` is `shape`, and every 50th has an evaluation."""
    rows = [
        {
            "update": update,
            "agent_steps": 1000 * update,
            "collected_steps": 1000 * update,
            "seconds": update / 10,
            "policy_version": update,
            "checkpoint": f"checkpoints/{update}",
            "weights_sha256": f"{update:064d}",
        }
        for update in updates
    ]
    names = {"train/loss": shape, "rollout/ep_rew_mean": float, **more}
    values = [(name, update, of(update)) for name, of in names.items() for update in updates]
    values += [("eval/return", update, float(update)) for update in updates if update % 50 == 0]
    with store._transaction() as connection:
        connection.executemany(
            "INSERT INTO updates VALUES (:update, :agent_steps, :collected_steps, :seconds, "
            ":policy_version, :checkpoint, :weights_sha256)",
            rows,
        )
        connection.executemany("INSERT INTO points VALUES (?, ?, 1, ?, NULL, NULL)", values)
        connection.executemany(
            "INSERT INTO events (kind, data) VALUES (?, ?)", [("metrics", "x" * 1000) for _ in updates]
        )


def grow(
    store: MetricsStore, updates: range, *, keep_every: int = 100, batch: int = BATCH, **sizes: int
) -> None:
    """Updates as they come, thinned as they come; each `keep_every`th version has a checkpoint."""
    kept: set[int] = set()
    for first in range(updates.start, updates.stop, batch):
        new = range(first, min(first + batch, updates.stop))
        write(store, new)
        kept |= {update for update in new if update % keep_every == 0}
        with store._transaction() as connection:
            thinning.thin(connection, kept | set(new[-10:]), **sizes)


def select(store: MetricsStore, query: str) -> list[Any]:
    with store._connected() as connection:
        return connection.execute(query).fetchall()


def count(store: MetricsStore, table: str) -> int:
    return select(store, f"SELECT count(*) FROM {table}")[0][0]


def test_watched_a_young_run_is_left_as_it_is(store: MetricsStore):
    write(store, range(1, thinning.WHOLE_UPDATES + 1))
    before = store.query("r", max_points=10_000)
    store.thin(set())
    assert store.query("r", max_points=10_000) == before
    assert count(store, "updates") == thinning.WHOLE_UPDATES


def test_watched_old_rows_become_buckets_with_mean_extremes_and_number(store: MetricsStore):
    write(store, range(1, 101))
    with store._transaction() as connection:
        thinning.thin(connection, {5}, whole=68, width=8, per_level=100)
    # 32 updates are older than the newest 68: four buckets of 8, named 8, 16, 24, 32; 5 keeps its row.
    updates = [update for (update,) in select(store, 'SELECT "update" FROM updates')]
    points = select(store, "SELECT * FROM points WHERE name = 'rollout/ep_rew_mean'")
    assert updates == [5, 8, 16, 24, 32, *range(33, 101)]
    # 1 + ... + 8 = 36, 36 / 8 = 4.5.
    assert points[0] == ("rollout/ep_rew_mean", 8, 8, 4.5, 1.0, 8.0)
    (series,) = store.query("r", ["rollout/ep_rew_mean"], max_points=10_000).series
    assert series.values[:2] == [4.5, 12.5]
    assert series.low is not None and series.high is not None
    assert (series.low[1], series.high[1]) == (9.0, 16.0)
    # What was whole is whole.
    assert series.values[4:] == [float(update) for update in range(33, 101)]
    # What the diagnosis begins with: a bucket is one row, of its means.
    assert [row[0] for row in store.rows()] == [8, 16, 24, 32, *range(33, 101)]
    assert store.rows()[0][2]["rollout/ep_rew_mean"] == 4.5
    assert store.names() == ["eval/return", "rollout/ep_rew_mean", "train/loss"]


def test_watched_buckets_of_buckets_keep_mean_extremes_and_number(store: MetricsStore):
    grow(store, range(1, 2001), keep_every=10**9, whole=200, width=4, per_level=8)
    levels = select(store, "SELECT level, count(*) FROM buckets GROUP BY level ORDER BY level")
    points = select(
        store,
        'SELECT "update", count, mean, low, high FROM points '
        "WHERE name = 'rollout/ep_rew_mean' AND count > 1",
    )
    assert all(number <= 8 for _, number in levels)
    assert levels[-1][0] >= 4
    last = 0
    for update, number, mean, low, high in points:
        # Each stands for the updates since the one before: their mean is the middle of first and last.
        assert (low, high, number) == (last + 1, update, update - last)
        assert mean == pytest.approx((last + 1 + update) / 2)
        last = update
    # Nothing is missing between the buckets and what is whole.
    assert store.rows()[len(points)][0] == last + 1


def test_scale_13_a_hundred_thousand_rows_stay_small_and_keep_their_shape(
    tmp_path: Path, store: MetricsStore
):
    # Two metrics an update and an evaluation every 50: 101,000 rows.
    grow(store, range(1, 50_001), batch=100, whole=512, per_level=128)
    assert count(store, "events") <= thinning.WHOLE_EVENTS + 100
    # 512 whole, 500 of kept versions; levels of 128 buckets of 16, 32, 64, ... updates: 5 full, one begun.
    assert count(store, "updates") < 512 + 500 + 6 * 128 + 64
    assert count(store, "points WHERE count > 1") < 3 * 6 * 128
    assert sum(path.stat().st_size for path in tmp_path.glob("metrics.db*")) < 10 << 20
    view = store.query("r", ["train/loss"], max_points=500)
    (series,) = view.series
    assert series.low is not None and series.high is not None
    # Both spikes of one update in 50,000 are seen, and the curve is where it was.
    assert (max(series.high), min(series.low)) == (1e6, -1e6)
    assert len(series.values) > 200
    far = [
        abs(value - shape(round(steps / 1000)))
        for value, steps in zip(series.values, view.agent_steps, strict=True)
    ]
    assert sorted(far)[len(far) * 9 // 10] < 10.0
    # The newest are whole, and what resuming needs is there.
    newest = store.query("r", ["rollout/ep_rew_mean"], from_steps=49_501_000, max_points=10_000).series[0]
    assert newest.values == [float(update) for update in range(49_501, 50_001)]
    assert (store.last_update(), store.last_version(), store.last_seconds()) == (50_000, 50_000, 5_000.0)
    assert count(store, "updates WHERE policy_version % 100 = 0") == 500


def test_D2_a_resumed_run_forgets_buckets_of_updates_it_will_do_anew(store: MetricsStore):
    grow(store, range(1, 201), whole=40, width=8, per_level=100)
    store.rewind(20)
    # Some of 17 to 24, one bucket, will be repeated.
    assert [row[0] for row in store.rows()] == [8, 16]
    assert store.query("r", ["train/loss"]).series[0].values
    row = UpdateRow(21, 21_000, 21_000, 2.1, 21, "checkpoints/21", "0" * 64, {"train/loss": 1.0})
    store.commit_update(row, {})
    assert store.last_update() == 21


def test_an_evaluation_of_an_update_that_is_in_a_bucket_by_now_stands_at_the_bucket(store: MetricsStore):
    grow(store, range(1, 201), keep_every=10**9, whole=40, width=8, per_level=100)
    store.add_metrics(3, {"eval/late": 7.0})
    view = store.query("r", ["eval/late"], max_points=10_000)
    assert view.series[0].values == [7.0]
    assert view.agent_steps == [8000.0]
    # 1 to 8, and 100 of the same bucket: (36 + 100) / 9.
    store.add_metrics(3, {"rollout/ep_rew_mean": 100.0})
    (series,) = store.query("r", ["rollout/ep_rew_mean"], to_steps=8000).series
    assert (series.values, series.low, series.high) == ([15.1111], [1.0], [100.0])


def test_a_little_at_each_call_however_much_has_grown_old(store: MetricsStore):
    write(store, range(1, 2001))
    with store._transaction() as connection:
        thinning.thin(connection, set(), whole=100, width=8)
    assert count(store, "buckets") == thinning.FOLDS
