import json

import pytest

from attract.benchmarks.speed.gain import main


def test_both_ways_are_played_and_their_ratio_given(capsys: pytest.CaptureFixture[str]):
    arguments = ["--game", "cartpole", "--games", "16", "--hidden", "8", "--seconds", "0.2", "--rounds", "2"]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    rates = printed["steps_per_second"]
    assert min(rates.values()) > 0
    assert printed["gain"] == pytest.approx(rates["2 groups"] / rates["1 group"])
    assert 0 < min(printed["policy_share"].values()) <= max(printed["policy_share"].values()) < 1
