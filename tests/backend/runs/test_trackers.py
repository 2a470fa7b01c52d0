from pathlib import Path

from tensorboardX.proto.event_pb2 import Event

from attract.runs.trackers import TensorBoardTracker


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


def test_every_value_is_a_scalar_under_its_own_name_at_its_agent_steps(tmp_path: Path):
    tracker = TensorBoardTracker(tmp_path)
    tracker.write(1000, {"rollout/ep_rew_mean": 21.5, "time/fps": 3.0})
    tracker.write(2000, {"rollout/ep_rew_mean": 40.0})
    tracker.close()
    (path,) = tmp_path.glob("events.out.tfevents.*")
    assert read_scalars(path) == [
        ("rollout/ep_rew_mean", 1000, 21.5),
        ("time/fps", 1000, 3.0),
        ("rollout/ep_rew_mean", 2000, 40.0),
    ]
