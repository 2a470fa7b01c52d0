"""Tests of the whole system, which other programs of the machine can disturb, get another chance."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# They start browsers, servers and trainers, kill them, and wait for each other by the clock.
WHOLE_SYSTEM = tuple(
    TESTS / folder
    for folder in (
        "end_to_end",
        "faults",
        "backend/benchmarks",
        "backend/browser",
        "backend/processes",
        "backend/learner/federated",
        "backend/run/service",
        "backend/server",
        "backend/vector",
    )
)
RERUNS = 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test of these that fails is run again, and the summary says so; one that fails thrice is red.

    A pause of the machine hits one run of a test, a defect hits each. `-p no:rerunfailures`: one chance.
    """
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in WHOLE_SYSTEM):
            item.add_marker(pytest.mark.flaky(reruns=RERUNS, reruns_delay=2))
