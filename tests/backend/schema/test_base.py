"""What every message has in common, and the limits of the numbers and texts that it is made of."""

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from attract.schema.base import Amount, Count, FiniteModel, Name, Seconds, Seed, Text, UInt32, WireModel


class Sample(WireModel):
    number: float = 1.5


class FiniteSample(FiniteModel):
    number: float = 1.5


def test_records_do_not_change_and_take_no_unknown_key():
    with pytest.raises(ValidationError, match="frozen"):
        Sample().number = 2.0  # type: ignore[misc]
    with pytest.raises(ValidationError, match="other"):
        Sample.model_validate({"other": 1})


def test_infinities_are_for_our_own_processes_alone():
    assert Sample.model_validate_json(Sample(number=float("inf")).model_dump_json()).number == float("inf")
    for number in (float("inf"), float("-inf"), float("nan")):
        with pytest.raises(ValidationError, match="finite"):
            FiniteSample(number=number)


def test_a_default_is_required_of_who_reads_and_written_by_who_sends():
    assert Sample().model_dump() == {"number": 1.5}
    assert Sample.model_json_schema(mode="serialization")["required"] == ["number"]


@pytest.mark.parametrize(
    ("kind", "smallest", "largest"),
    [(UInt32, 0, 2**32 - 1), (Count, 0, 2**53 - 1), (Amount, -1e30, 1e30), (Seconds, 0.0, 1e9)],
)
def test_numbers_keep_to_their_limits(kind: Any, smallest: float, largest: float):
    adapter: TypeAdapter[float] = TypeAdapter(Annotated[kind, None])
    assert adapter.validate_python(smallest) == smallest
    assert adapter.validate_python(largest) == largest
    beyond = largest * 1.01 if isinstance(largest, float) else largest + 1
    for wrong in (beyond, -1 if smallest == 0 else -beyond):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


@pytest.mark.parametrize(("kind", "least", "most"), [(Name, 1, 120), (Text, 0, 20_000)])
def test_texts_keep_to_their_lengths(kind: Any, least: int, most: int):
    adapter: TypeAdapter[str] = TypeAdapter(Annotated[kind, None])
    assert adapter.validate_python("a" * most) == "a" * most
    assert adapter.validate_python("a" * least) == "a" * least
    for wrong in ([least - 1] if least else []) + [most + 1]:
        with pytest.raises(ValidationError):
            adapter.validate_python("a" * wrong)


def test_C5_a_seed_is_two_words_of_32_bits():
    assert Seed(low=2**32 - 1, high=0).low == 2**32 - 1
    with pytest.raises(ValidationError, match="high"):
        Seed(low=0, high=2**32)
