from pathlib import Path

import pytest

from attract.commands.difficulty import cells, not_played, p_text, ranged, read_bands, spread
from attract.errors import ConfigurationError
from attract.playtest.difficulty import Estimate, Step, ValueDifficulty


def bands(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bands.yaml"
    path.write_text(text)
    return path


def test_bands_are_limits_by_number(tmp_path: Path) -> None:
    path = bands(tmp_path, "win_rate: [0.3, 0.7]\ndifficulty: [null, 0.5]\nreturn: [10, null]\n")
    assert read_bands(path) == {"win_rate": (0.3, 0.7), "difficulty": (None, 0.5), "return": (10, None)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no band"),
        ("winrate: [0, 1]", "there is no number 'winrate'"),
        ("win_rate: 0.5", "win_rate: must be"),
        ("win_rate: [0.7, 0.3]", "win_rate: must be"),
        ("win_rate: [0.3]", "win_rate: must be"),
        ("win_rate: [true, 1]", "win_rate: must be"),
        ("win_rate: [a, b]", "win_rate: must be"),
    ],
)
def test_other_bands_are_refused_with_their_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"bands\.yaml: {problem}"):
        read_bands(bands(tmp_path, text))


def test_estimates_are_told_with_their_interval() -> None:
    assert spread(Estimate(mean=0.5, low=0.46, high=0.54), ".2f") == "0.50 +- 0.04"
    assert spread(Estimate(mean=0.5, low=None, high=None), ".2f") == "0.50"
    assert ranged(Estimate(mean=4.0, low=2.0, high=5.0), ".3g") == "4 (2-5)"
    assert ranged(Estimate(mean=None, low=20.5, high=None), ".3g") == "> 20.5"


def test_a_row_has_all_numbers() -> None:
    one = Estimate(mean=0.5, low=0.25, high=0.75)
    row = ValueDifficulty(
        value=1, difficulty=None, win_rate=one, attempts=one, episode_return=one, length=one, episodes=4
    )
    assert cells(row) == ["-", "0.50 (0.25-0.75)", "0.5 (0.25-0.75)", "0.5 +- 0.25", "0.5 +- 0.25"]


def test_a_step_is_told_by_its_p_value_and_by_the_number_unless_that_is_the_difficulty() -> None:
    step = Step(before=1, now=2, differs=True, number="difficulty", p_value=0.001)
    assert p_text(step) == "1e-03"
    assert p_text(step.model_copy(update={"number": "length"})) == "1e-03 (length)"
    assert p_text(Step(before=1, now=2, differs=False)) == "-"


def test_what_could_not_be_played_is_exit_code_2() -> None:
    assert not_played("snake", "size", "it hangs").exit_code == 2
