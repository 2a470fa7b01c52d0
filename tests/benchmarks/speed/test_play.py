"""The player that ships against ONNX Runtime, in a real browser."""

import pytest

from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.speed.play import PLAY, play_figure


def test_a_figure_is_the_players_rate_and_how_many_times_the_others():
    rounds = [{"player": 20_000.0, "inference": 10_000.0}, {"player": 10_000.0, "inference": 2_500.0}]
    figure = play_figure([*rounds, {"player": 40_000.0, "inference": 4_000.0}])
    assert figure.value == 20_000 and figure.ratio == 4
    assert figure.detail == {"player_us": 50, "onnx_runtime_us": 250}


@pytest.mark.long
def test_both_decide_in_turns_in_one_page():
    figures = PLAY.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == PLAY.names
    for figure in figures.values():
        # No network takes less than a microsecond or more than a tenth of a second.
        assert 1 < figure.detail["player_us"] < 1e5 and 1 < figure.detail["onnx_runtime_us"] < 1e5
        assert figure.ratio == pytest.approx(figure.detail["onnx_runtime_us"] / figure.detail["player_us"])
