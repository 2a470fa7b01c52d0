from attract.run.game_log import HANDOVER_SECONDS, MAX_LINES, GameLogKeeper
from attract.schema.api import LogLine


def line(number: int) -> LogLine:
    return LogLine(level="log", text=f"line {number}")


def test_the_newest_lines_are_kept() -> None:
    keeper = GameLogKeeper(lambda: 0.0)
    for number in range(MAX_LINES + 3):
        assert keeper.take(1, line(number))
    assert len(keeper.lines()) == MAX_LINES
    assert keeper.lines()[0].text == "line 3"


def test_one_worker_is_listened_to_until_it_is_quiet() -> None:
    now = 0.0
    keeper = GameLogKeeper(lambda: now)
    assert keeper.take(4, line(0))
    assert not keeper.take(5, line(1))
    now = HANDOVER_SECONDS
    assert keeper.take(5, line(2))
    assert not keeper.take(4, line(3))
    assert [line.text for line in keeper.lines()] == ["line 0", "line 2"]
