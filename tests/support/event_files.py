"""Reads what TensorBoard would."""

from pathlib import Path

from tensorboardX.proto.event_pb2 import Event


def read_scalars(path: Path) -> list[tuple[str, int, float]]:
    """Scalars of an event file: records of length, checksum, data, checksum."""
    data, scalars = path.read_bytes(), []
    position = 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        event = Event.FromString(data[position + 12 : position + 12 + length])
        position += 12 + length + 4
        scalars += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
    return scalars
