"""The table of a step's numbers, from which layout, validation, loading and the wire are made."""

import numpy as np

from attract.schema.messages import Block, StepOutcome
from attract.schema.step_numbers import DECIDED_NUMBERS, OUTCOME_NUMBERS, STEP_NUMBERS, Tensor


def test_every_number_travels_in_a_block_and_is_kept_as_a_type_of_the_store() -> None:
    assert not DECIDED_NUMBERS.keys() & OUTCOME_NUMBERS.keys()
    assert {**DECIDED_NUMBERS, **OUTCOME_NUMBERS} == STEP_NUMBERS
    assert {name: np.dtype(kept).itemsize for name, kept in STEP_NUMBERS.items()} == {
        "log_prob": 4,
        "value": 4,
        "reward": 4,
        "terminated": 1,
        "truncated": 1,
        "valid": 1,
        "executed_ticks": 2,
    }
    for name in STEP_NUMBERS:
        assert Block.model_fields[name].annotation is Tensor
    assert OUTCOME_NUMBERS.keys() <= StepOutcome.model_fields.keys()
