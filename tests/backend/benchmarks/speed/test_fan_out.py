"""Publication to more and more sockets, a few of them."""

import pytest

from attract.benchmarks.harness.measure import BenchOptions
from attract.benchmarks.speed.fan_out import FAN_OUT, NAMES


@pytest.mark.long
def test_every_socket_gets_a_version_that_was_encoded_once():
    figures = FAN_OUT.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES
    figure = figures[NAMES[0]]
    assert figure.value > 0
    assert figure.detail["encodings_per_version"] == 1
    few, many = figure.detail["last_of_4_ms"], figure.detail["last_of_8_ms"]
    assert few > 0
    assert many > 0
    # Twice the workers, growing as they do, is a ratio of 1.
    assert abs((figure.ratio or 0) - few / (many / 2)) < 1e-6 * (figure.ratio or 1)
