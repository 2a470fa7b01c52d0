"""Frames a second of games that live in a page, in a real Chromium, in their shortest form."""

import pytest

from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.speed.page_games import GAMES, PAGE_GAMES, names_of


@pytest.mark.long
def test_a_page_goes_faster_from_within_than_step_by_step_from_outside() -> None:
    measure = PAGE_GAMES[GAMES.index("meteors")]
    assert not measure.by_default
    figures = measure.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == names_of("meteors")
    # It does 2,000 times real time on a quiet machine, and the usual way a fiftieth of that.
    assert figures["page_games/meteors_4_pages"].ratio is not None
    assert figures["page_games/meteors_4_pages"].value > 100 * 60
    assert figures["page_games/meteors_by_evaluate"].detail["times_slower"] > 3
    assert figures["page_games/meteors_reload_ms"].value > figures["page_games/meteors_restart_ms"].value
    assert 0.5 < figures["page_games/meteors_page_mib"].value < 50
