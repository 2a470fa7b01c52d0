import json

from attract.vector.trace import POLICY_TRACK, Timeline, games_track


def test_spans_are_complete_events_in_microseconds_on_named_tracks():
    timeline = Timeline()
    timeline.span(games_track(1), "step 1", 1.0, 1.5, game_seconds=0.25)
    timeline.span(POLICY_TRACK, "policy, group 0", 1.25, 1.375, group=0)
    trace = json.loads(json.dumps(timeline.to_json()))
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names == {1: "games of group 1", 2: "policy"}
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(span["tid"], span["ts"], span["dur"]) for span in spans] == [(1, 1e6, 5e5), (2, 1.25e6, 1.25e5)]
    assert spans[0]["args"] == {"game_seconds": 0.25}


def test_only_the_first_spans_are_kept():
    timeline = Timeline(max_events=2)
    for place in range(5):
        timeline.span(POLICY_TRACK, str(place), place, place + 1)
    spans = [event["name"] for event in timeline.to_json()["traceEvents"] if event["ph"] == "X"]
    assert spans == ["0", "1"]
