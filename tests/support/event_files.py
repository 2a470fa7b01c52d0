"""Reads what TensorBoard would."""

from collections.abc import Iterator
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event, SessionLog


def read_scalars(path: Path) -> list[tuple[str, int, float]]:
    """Scalars of an event file."""
    return [
        (value.tag, event.step, value.simple_value)
        for event in _events(path)
        for value in event.summary.value
    ]


def drawn_by_marks(run_dir: Path, tag: str) -> list[tuple[int, float]]:
    """Steps and values that TensorBoard's Python reader draws of all files of a run.

    At the start of a session it purges what it has read of that step and later ones
    (tensorboard/backend/event_processing/event_accumulator.py, `_CheckForRestartAndMaybePurge`).
    """
    drawn: list[tuple[int, float]] = []
    for event in _events_of(run_dir):
        if event.session_log.status == SessionLog.START:
            drawn = [point for point in drawn if point[0] < event.step]
        drawn += [(event.step, scalar.simple_value) for scalar in event.summary.value if scalar.tag == tag]
    return drawn


def drawn_by_steps(run_dir: Path, tag: str) -> list[tuple[int, float]]:
    """The same of its usual reader, in which a value removes those of its step and of later ones.

    (tensorboard/data/server/reservoir.rs, "preempted".)
    """
    drawn: list[tuple[int, float]] = []
    for event in _events_of(run_dir):
        for scalar in event.summary.value:
            if scalar.tag == tag:
                drawn = [earlier for earlier in drawn if earlier[0] < event.step]
                drawn.append((event.step, scalar.simple_value))
    return drawn


def _events_of(run_dir: Path) -> Iterator[Event]:
    """Events of all its files, in the order in which TensorBoard reads them."""
    for path in sorted(run_dir.glob("events.out.tfevents.*")):
        yield from _events(path)


def _events(path: Path) -> Iterator[Event]:
    """Records of length, checksum, data, checksum."""
    data = path.read_bytes()
    position = 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        yield Event.FromString(data[position + 12 : position + 12 + length])
        position += 12 + length + 4
