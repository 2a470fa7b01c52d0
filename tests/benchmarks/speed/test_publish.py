"""Real publications to real workers in a real browser, a few of them."""

import pytest

from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.speed.publish import NAMES, PUBLISH


@pytest.mark.long
def test_the_way_of_a_version_to_the_last_worker_is_measured():
    figures = PUBLISH.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES
    p50, p99 = (figures[name] for name in NAMES)
    parts = p50.detail
    # On its way a version is durable, then sent, then with the first worker, then with the last.
    assert 0 < parts["until_durable_ms"] < parts["until_sent_ms"] < parts["until_first_worker_ms"] < p50.value
    assert p50.value <= p99.value
    assert parts["one_worker_create_ms"] > 0
    assert parts["encodings_per_version"] == 1
