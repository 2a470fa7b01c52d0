from attract.schema.api import GameReport
from attract.server.game_reports import MAX_REPORTS, GameReports


def report(text: str = "boom", **fields: object) -> GameReport:
    return GameReport.model_validate(
        {"kind": "throw", "name": "Error", "text": text, "stack": None, **fields}
    )


def test_stacks_are_mapped_and_a_hang_keeps_none():
    reports = GameReports(lambda stack: stack.replace("games/x.js", "snake.ts"))
    assert reports.add(report(stack="at games/x.js:1:1")).stack == "at snake.ts:1:1"
    assert reports.add(report("hangs", kind="hang")).stack is None


def test_the_same_failure_is_counted_and_keeps_where_it_came_first():
    reports = GameReports(lambda stack: stack)
    reports.add(report(slot_id=3))
    assert reports.add(report(slot_id=9)).count == 2
    assert reports.add(report(slot_id=9)).count == 3
    assert [(one.text, one.count, one.slot_id) for one in reports.all()] == [("boom", 3, 3)]


def test_of_too_many_kinds_the_oldest_go():
    reports = GameReports(lambda stack: stack)
    for number in range(MAX_REPORTS + 2):
        reports.add(report(f"boom {number}"))
    assert len(reports.all()) == MAX_REPORTS
    assert reports.all()[0].text == "boom 2"
