"""A figure is the median of its rounds, and its ratio that of theirs."""

import pytest
from pydantic import ValidationError

from attract_benchmarks.harness.figure import Figure


def test_value_and_ratio_are_medians_each_of_its_own_numbers():
    figure = Figure.of([3.0, 1.0, 2.0], "steps/s", ratios=[0.5, 0.9, 0.1], against="the bare part")
    assert (figure.value, figure.ratio, figure.rounds) == (2.0, 0.5, (3.0, 1.0, 2.0))
    assert Figure.of([1.0, 4.0], "ms").value == 2.5


def test_a_figure_without_a_bare_part_has_no_ratio():
    figure = Figure.of([1.0], "ms", better="lower")
    assert (figure.ratio, figure.against, figure.better, figure.detail) == (None, "", "lower", {})


def test_a_figure_has_a_round_and_survives_being_written_down():
    with pytest.raises(ValueError, match="at least one round"):
        Figure.of([], "ms")
    figure = Figure.of([1.0], "ms", detail={"share": 0.25})
    assert Figure.model_validate_json(figure.model_dump_json()) == figure
    with pytest.raises(ValidationError):
        Figure.model_validate(figure.model_dump() | {"better": "faster"})
