"""Whole runs from a seed each: pauses, full disks, undone updates, dead learners, stops, resumes anywhere."""

import pytest

from run_simulation import eventful_run

NUM_SEEDS = 2_000


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, NUM_SEEDS), marks=pytest.mark.long)])
def test_D1_P8_whatever_happens_a_run_keeps_its_promises_and_ends(seeds: range) -> None:
    outcomes: set[str] = set()
    for seed in seeds:
        try:
            run = eventful_run(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        outcomes.add(run.life.shown)
    assert outcomes == {"stopped", "finished", "failed"}


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_D1_P8_the_same_of_many_more_runs() -> None:
    for seed in range(NUM_SEEDS, 100 * NUM_SEEDS):
        try:
            eventful_run(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
