import pytest

from attract.collection.load_balancing import segments_by_speed


@pytest.mark.parametrize(
    ("usual", "speed", "speeds", "expected"),
    [
        (4, 100.0, [100.0, 100.0], 4),
        (4, 150.0, [150.0, 50.0], 6),  # 4 x 150 / 100
        (4, 50.0, [150.0, 50.0], 2),
        (1, 10.0, [100.0, 10.0], 1),  # never less than one segment per slot
        (1, 1000.0, [1000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 4),  # 8 would be too many at once
        (4, None, [100.0], 4),
        (4, None, [], 4),
    ],
)
def test_C4_shares_follow_measured_speed(
    usual: int, speed: float | None, speeds: list[float], expected: int
) -> None:
    assert segments_by_speed(usual, speed, speeds) == expected
