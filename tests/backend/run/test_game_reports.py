from attract.run.game_reports import MAX_REPORTS, GameReports
from attract.schema.api import GameReport
from attract.schema.game_messages import MethodSource


def report(text: str = "boom", **fields: object) -> GameReport:
    return GameReport.model_validate(
        {"kind": "throw", "name": "Error", "text": text, "stack": None, **fields}
    )


METHOD = MethodSource(name="Catch.update", text="update() {}")


def own(stack: str | None, method: MethodSource | None) -> str | None:
    """Stands in for the library: what of a stack is the game's, else the method."""
    if stack is not None and "games/" in stack:
        return stack.replace("games/x.js", "snake.ts")
    return None if method is None else f"    at {method.name}"


def test_stacks_are_mapped_and_a_hang_keeps_none():
    reports = GameReports(own)
    assert reports.add(report(stack="at games/x.js:1:1")).stack == "at snake.ts:1:1"
    assert reports.add(report("hangs", kind="hang")).stack is None


def test_where_the_game_threw_nothing_the_method_stands_in_for_the_stack():
    assert GameReports(own).add(report(kind="nan"), METHOD).stack == "    at Catch.update"
    assert GameReports(own).add(report(stack="at rollout.js:1:1")).stack is None, "ours alone says nothing"


def test_a_crash_of_ours_keeps_its_stack_and_a_finding_the_place_it_has():
    reports = GameReports(own)
    assert reports.add(report("ours", kind="crash", stack="at rollout.js:1:1")).stack == "at rollout.js:1:1"
    found = reports.add(report("found", kind="check", stack="    at snake.ts:3:4"))
    assert found.stack == "    at snake.ts:3:4"


def test_the_same_failure_is_counted_and_keeps_where_it_came_first():
    reports = GameReports(own)
    reports.add(report(slot_id=3, step_values="action 1"))
    assert reports.add(report(slot_id=9, step_values="action 0")).count == 2
    assert reports.add(report(slot_id=9)).count == 3
    kept = [(report.text, report.count, report.slot_id, report.step_values) for report in reports.all()]
    assert kept == [("boom", 3, 3, "action 1")]


def test_texts_that_differ_in_numbers_alone_are_one_failure_of_several_workers():
    reports = GameReports(own)
    reports.add(report("gives 3 at tick 17", host_id="a", worker_index=0))
    reports.add(report("gives -4.5e-3 at tick 18", host_id="a", worker_index=0))
    shown = reports.add(report("gives 5 at tick 19", host_id="b", worker_index=0))
    assert (shown.text, shown.count, shown.num_workers) == ("gives 3 at tick 17", 3, 2)
    assert reports.add(report("gives x3 at tick 17", host_id="c", worker_index=0)).count == 1


def test_one_fault_told_by_check_worker_and_host_is_one_report():
    """A: who gives up tells of the failure once more, in fields; it is not counted again."""
    reports = GameReports(own)
    words = "update() threw: boom"
    checked = reports.add(
        report(f"{words} (tick 5)", kind="check", name="contract", fix="mend it", stack="    at snake.ts:3:4")
    )
    for _ in range(10):
        thrown = report(words, stack="    at games/x.js:3:4", seed="0" * 16, worker_index=0, host_id="a")
        assert reports.add(thrown).fault_id == checked.fault_id
    given_up = thrown.model_copy(update={"repeated": 10, "worker_lost": True})
    shown = reports.add(given_up)
    assert reports.all() == [shown]
    assert (shown.kind, shown.text, shown.place, shown.fix) == ("throw", words, "snake.ts:3:4", "mend it")
    assert (shown.count, shown.num_workers, shown.worker_lost) == (10, 1, True)
    reports.add(report(words, stack="    at games/x.js:9:1"))
    assert [known.count for known in reports.all()] == [10, 1], "another line is another fault"


def test_two_visitors_and_two_lines_are_told_apart():
    reports = GameReports(own)
    for visitor in ("192.0.2.1", "192.0.2.2"):
        assert reports.add(report(f"{visitor} is banned", kind="quarantine")).count == 1
    for line in (1, 2):
        assert reports.add(report(stack=f"    at games/x.js:{line}:1")).count == 1


def test_of_too_many_kinds_the_oldest_go():
    reports = GameReports(own)
    for number in range(MAX_REPORTS + 2):
        reports.add(report(f"boom{number}"))
    assert len(reports.all()) == MAX_REPORTS
    assert reports.all()[0].text == "boom2"
