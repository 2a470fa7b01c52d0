from pathlib import Path

import pytest

from attract.errors import FileError
from attract.playtest.baseline import MAX_BYTES, Baseline, KnownFinding, read_baseline, write_baseline
from attract.playtest.outcomes import Outcome, Outcomes
from attract.schema.base import Seed


def baseline() -> Baseline:
    return Baseline(
        game="Snake-v1",
        build="a" * 64,
        seed=Seed(low=1, high=2),
        max_steps=3000,
        policies={"trained": "b" * 64},
        known=[KnownFinding(id="retry-broken", text="episode # differs")],
        measured={"dead-key/action 1": 0.5512345678},
    )


def outcomes(count: int, num_info: int = 1) -> Outcomes:
    found = Outcomes()
    for player in ("idle", "random"):
        found.players[player] = {
            i: Outcome(
                "terminated" if i % 2 else "stopped",
                {"return": i / 3, "length": float(i), "ended": float(i % 2)}
                | {f"info level {k}": float(f"{i * k / 7:.6g}") for k in range(num_info)},
            )
            for i in range(count)
        }
    return found


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "attract-ci.json"
    assert write_baseline(path, baseline(), outcomes(20), 256) == 256
    read = read_baseline(path)
    assert read.model_copy(update={"players": {}, "measured": {}}) == baseline().model_copy(
        update={"measured": {}}
    )
    assert read.measured == {"dead-key/action 1": 0.551235}
    again = read.outcomes()
    assert again.players["idle"][3].end_reason == "terminated"
    assert again.players["random"][4].numbers["return"] == pytest.approx(4 / 3, rel=1e-5)
    assert list(again.players["idle"]) == list(range(20))


def test_a_gap_ends_what_is_kept_of_a_player(tmp_path: Path) -> None:
    played = outcomes(10)
    del played.players["idle"][4]
    write_baseline(tmp_path / "b.json", baseline(), played, 256)
    again = read_baseline(tmp_path / "b.json").outcomes()
    assert (len(again.players["idle"]), len(again.players["random"])) == (4, 10)


def test_as_many_episodes_are_kept_as_fit(tmp_path: Path) -> None:
    path = tmp_path / "attract-ci.json"
    kept = write_baseline(path, baseline(), outcomes(256, num_info=120), 256)
    assert kept < 256
    # Twice as many do not fit.
    assert write_baseline(tmp_path / "other.json", baseline(), outcomes(256, num_info=120), 2 * kept) == kept
    assert path.stat().st_size <= MAX_BYTES
    assert len(read_baseline(path).outcomes().players["idle"]) == kept


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"attract-ci-baseline"', '"other"', "format"),
        ('"ends": "s', '"ends": "st', "not of one length"),
        ('"length": "0 ', '"length": "none ', "could not convert"),
        ("{", "[", "JSON"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path = tmp_path / "attract-ci.json"
    write_baseline(path, baseline(), outcomes(4), 256)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(FileError, match=problem):
        read_baseline(path)
