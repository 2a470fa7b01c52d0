"""Random streams against Random123's known answers and the golden file that TypeScript reads too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attract.schema.messages import Seed
from attract.schema.philox import action_uniforms, derive_seed, philox4x32, sequential_words, uniforms

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "contract" / "golden" / "philox.json").read_text()
)


def test_C5_known_answers_of_random123() -> None:
    assert len(GOLDEN["known_answers"]) == 3
    for case in GOLDEN["known_answers"]:
        words = philox4x32(np.array(case["counter"]), tuple(case["key"]))
        assert words.tolist() == case["words"]


def test_C5_counters_are_independent_of_their_place_in_the_batch() -> None:
    counters = np.arange(24, dtype=np.uint64).reshape(2, 3, 4)
    together = philox4x32(counters, (5, 6))
    for i in range(2):
        for j in range(3):
            assert together[i, j].tolist() == philox4x32(counters[i, j], (5, 6)).tolist()


def test_C5_sequential_streams_match_the_golden_file() -> None:
    assert {case["stream"] for case in GOLDEN["sequential"]} == {"game", "parameters"}
    for case in GOLDEN["sequential"]:
        words = sequential_words(
            Seed(**case["seed"]),
            case["stream"],
            episode=case["episode"],
            instance=case["instance"],
            count=len(case["words"]),
        )
        assert words.tolist() == case["words"]
        assert uniforms(words).tolist() == case["uniforms"]


def test_C5_action_draws_match_the_golden_file() -> None:
    assert {case["num_components"] for case in GOLDEN["action"]} == {1, 3}
    for case in GOLDEN["action"]:
        drawn = action_uniforms(
            Seed(**case["seed"]), [case["slot"]], [case["episode"]], [case["step"]], case["num_components"]
        )
        assert drawn.tolist() == [case["uniforms"]]


def test_C5_action_draws_are_vectorised_over_slots() -> None:
    cases = [c for c in GOLDEN["action"] if c["num_components"] == 3 and c["seed"]["low"] == 1]
    drawn = action_uniforms(
        Seed(low=1, high=0),
        [c["slot"] for c in cases],
        [c["episode"] for c in cases],
        [c["step"] for c in cases],
        3,
    )
    assert drawn.tolist() == [c["uniforms"] for c in cases]


def test_C5_derived_seeds_differ_by_name_and_run() -> None:
    seeds = [derive_seed(run, name) for run in (0, 1, 2**64 - 1) for name in ("run", "evaluation")]
    assert len({(seed.low, seed.high) for seed in seeds}) == 6
    assert derive_seed(1, "run") == derive_seed(1, "run")


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[\.\.\., 4\]"):
        philox4x32(np.zeros(3), (0, 0))
    with pytest.raises(ValueError, match="run seed"):
        derive_seed(-1, "run")
