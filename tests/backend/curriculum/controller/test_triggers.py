from attract.curriculum.controller import Trigger


def test_C6_each_multiple_is_passed_once():
    trigger = Trigger(10)
    assert [trigger.passed(count) for count in (9, 10, 11, 35, 35, 40)] == [0, 1, 0, 2, 0, 1]


def test_a_count_that_goes_back_brings_nothing_twice():
    trigger = Trigger(10)
    assert [trigger.passed(count) for count in (25, 12, 20, 30)] == [2, 0, 0, 1]


def test_D2_a_trigger_goes_on_where_it_was():
    trigger, other = Trigger(10), Trigger(10)
    trigger.passed(25)
    other.load(trigger.state(), 28)
    assert [other.passed(count) for count in (29, 30)] == [0, 1]


def test_another_interval_begins_at_the_count_it_is_loaded_at():
    trigger, other = Trigger(10), Trigger(7)
    trigger.passed(25)
    other.load(trigger.state(), 28)
    assert [other.passed(count) for count in (34, 35)] == [0, 1]
