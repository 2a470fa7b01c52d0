from attract.run import events
from attract.run.events import EventHub, format_event
from attract.runs.metrics import Event


def test_an_event_is_written_as_the_standard_says():
    assert format_event(Event(7, "status", '{"a":1}')) == 'id: 7\nevent: status\ndata: {"a":1}\n\n'
    assert format_event(Event(0, "fleet", "x\ny")) == "event: fleet\ndata: x\ndata: y\n\n"


async def test_a_page_that_does_not_read_is_cut_off_to_come_back_later():
    hub = EventHub()
    with hub.listen("r") as listening:
        for number in range(events.MAX_WAITING + 1):
            hub.publish("r", Event(number + 1, "metrics", "{}"))
        taken = [await listening.next(1.0) for _ in range(events.MAX_WAITING)]
    assert taken[-1] is None
    assert [event.id for event in taken[:-1] if event is not None] == list(range(2, events.MAX_WAITING + 1))
