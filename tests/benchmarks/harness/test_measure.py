"""Which measures are run."""

from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.harness.measure import Measure, choose


def measure(*names: str, **changes: Any) -> Measure:
    return Measure(names, "about", lambda _options: {}, **changes)


PUBLISH = measure("publish/p50_ms", "publish/p99_ms")
PEER = measure("end_to_end/vs_sb3", needs=("stable_baselines3",), by_default=False)
SCALING = measure("scaling/workers_1", by_default=False)
ALL = (PUBLISH, PEER, SCALING)


def test_what_is_not_asked_for_runs_by_default_and_peers_when_they_are():
    assert choose(ALL, only=(), peers=False) == [PUBLISH]
    assert choose(ALL, only=(), peers=True) == [PUBLISH, PEER]


def test_figures_are_asked_for_by_name_or_by_their_first_part():
    assert choose(ALL, only=("publish/p99_ms",), peers=False) == [PUBLISH]
    assert choose(ALL, only=("scaling", "end_to_end"), peers=False) == [PEER, SCALING]


def test_a_name_that_no_measure_gives_is_refused_with_the_nearest():
    with pytest.raises(ConfigurationError, match="no figure is called 'publsh'") as refused:
        choose(ALL, only=("publsh",), peers=False)
    assert "did you mean 'publish'?" in str(refused.value)
