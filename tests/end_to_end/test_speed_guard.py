"""A fast subset of the benchmark with wide limits: it fails on a collapse, not on a few percent."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract_command import run_attract

pytestmark = pytest.mark.alone

LEAST = {
    "collection/cartpole": 0.2,
    "learner/cpu": 0.3,
    "learner/cpu_separate": 0.3,
    "gateway/cpu_ms_per_mib": 0.015,
    "end_to_end/cartpole": 0.15,
}
"""Ratios to bare parts of the same run; a third of the usual ones or less, so that a busy machine passes."""
WHOLE = "end_to_end/cartpole"
"""All parts at once: `make test` has no other."""


def figures_of(folder: Path, *names: str) -> dict[str, Any]:
    """What the benchmark says of these, none of which has collapsed."""
    outcome = run_attract("bench", "--quick", "--rounds", "1", "--json", "--only", *names, runs_dir=folder)
    assert outcome.code == 0, outcome.stderr
    figures = json.loads(outcome.stdout)["figures"]
    for name in names:
        assert figures[name]["ratio"] >= LEAST[name], json.dumps(figures[name], indent=2)
    return figures


@pytest.mark.long
def test_no_part_has_collapsed(tmp_path: Path) -> None:
    figures_of(tmp_path, *(LEAST.keys() - {WHOLE}))


def test_the_whole_has_not_collapsed_and_accounts_for_its_time(tmp_path: Path) -> None:
    figure = figures_of(tmp_path, WHOLE)[WHOLE]
    detail = figure["detail"]
    parts = detail["load_ms"] + detail["compute_ms"] + detail["handover_ms"]
    assert min(detail[name] for name in ("load_ms", "compute_ms", "handover_ms")) > 0
    # Two clocks, over four updates: the moment of a commit moves by tens of ms on a busy machine.
    assert 0.5 < parts / detail["update_ms"] < 2
    learner, collection = detail["bare_learner_us_per_step"], detail["bare_collection_us_per_step"]
    bound = 1e6 * detail["cores"] / (learner + collection)
    assert detail["bound_steps_per_second"] == pytest.approx(bound)
    assert figure["ratio"] == pytest.approx(figure["value"] / bound)
