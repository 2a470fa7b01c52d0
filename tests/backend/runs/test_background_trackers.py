"""Copies for W&B and trackio: of the real tools, offline; and that none of them ever harms a run."""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from attract.runs import background_trackers
from attract.runs.background_trackers import SINKS, BackgroundTracker
from attract.settings.run import TRACKERS

WRITE = """
import json, sys
from attract.runs.background_trackers import RunFacts, open_tracker
name, folder, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
tracker = open_tracker(name, RunFacts("cartpole-1", folder, {"seed": 7, "ppo": {"gamma": 0.5}}))
tracker.restart({})
for update in range(first, last):
    tracker.write(100 * update, {"rollout/ep_rew_mean": update / 4, "train/loss": -1.0})
tracker.write(100 * (last - 1), {"eval/mean_reward": 9.5}, always=True)
tracker.close()
"""

READ_WANDB = """
import json, struct, sys
from pathlib import Path
from wandb.proto import wandb_internal_pb2 as pb

# A log of LevelDB with a header of 7 bytes: blocks of 32 KiB. Each record, or part of one, has a checksum,
# its length and its kind: 1 whole, 2 first, 3 middle, 4 last.
data, at, parts, records = Path(sys.argv[1]).read_bytes(), 7, b"", []
while at + 7 <= len(data):
    left = 32768 - at % 32768
    if left < 7:
        at += left
        continue
    _, length, kind = struct.unpack_from("<IHB", data, at)
    if kind == 0:
        break
    parts += data[at + 7 : at + 7 + length]
    at += 7 + length
    if kind in (1, 4):
        records.append(parts)
        parts = b""
found = {"rows": [], "config": {}}
for data in records:
    record = pb.Record()
    record.ParseFromString(data)
    kind = record.WhichOneof("record_type")
    if kind == "history":
        row = {item.key or ".".join(item.nested_key): item.value_json for item in record.history.item}
        found["rows"].append({key: json.loads(value) for key, value in row.items()})
    if kind == "run":
        found["project"] = record.run.project
        found["config"] = {item.key: json.loads(item.value_json) for item in record.run.config.update}
print(json.dumps(found))
"""


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")


def written(name: str, folder: Path, first: int, last: int) -> str:
    """Write updates in a process of its own, without a network's name servers or a key; what it printed."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("WANDB_", "TRACKIO_"))},
        "HOME": str(folder),
        "TRACKIO_DIR": str(folder / "trackio"),
        "HF_HUB_OFFLINE": "1",
    }
    words = [sys.executable, "-c", WRITE, name, str(folder), str(first), str(last)]
    done = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "gets no more metrics" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@needs("wandb")
def test_wandb_offline_has_every_row_at_its_agent_steps_and_the_settings(tmp_path: Path):
    written("wandb", tmp_path, 1, 4)
    (path,) = tmp_path.glob("wandb/offline-run-*/run-cartpole-1.wandb")
    done = subprocess.run([sys.executable, "-c", READ_WANDB, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = [{key: value for key, value in row.items() if not key.startswith("_")} for row in found["rows"]]
    assert rows == [
        *(
            {"agent_steps": 100 * update, "rollout/ep_rew_mean": update / 4, "train/loss": -1.0}
            for update in (1, 2, 3)
        ),
        {"agent_steps": 300, "eval/mean_reward": 9.5},
    ]
    assert found["project"] == "attract"
    assert (found["config"]["seed"], found["config"]["ppo"]) == (7, {"gamma": 0.5})


@needs("trackio")
def test_trackio_has_every_row_at_its_agent_steps_and_a_resumed_run_is_one(tmp_path: Path):
    written("trackio", tmp_path, 1, 4)
    written("trackio", tmp_path, 4, 6)
    read = (
        "import json\n"
        "from trackio.sqlite_storage import SQLiteStorage as storage\n"
        "(run,) = storage.get_runs('attract')\n"
        "name = run if isinstance(run, str) else run['name']\n"
        "print(json.dumps([name, storage.get_logs('attract', name)]))\n"
    )
    environment = {**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", read], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    name, logs = json.loads(done.stdout.splitlines()[-1])
    assert name == "cartpole-1"
    returns = {log["step"]: log["rollout/ep_rew_mean"] for log in logs if "rollout/ep_rew_mean" in log}
    assert returns == {100 * update: update / 4 for update in range(1, 6)}
    assert [log["step"] for log in logs if log.get("eval/mean_reward") == 9.5] == [300, 500]


class Remembered:
    """A sink that keeps its rows; it fails at `fails_at`, and waits for `gate` before each row."""

    def __init__(self, fails_at: int = -1, gate: threading.Event | None = None) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.is_closed = False
        self._fails_at = fails_at
        self._gate = gate

    def log(self, agent_steps: int, values: dict[str, float]) -> None:
        if self._gate is not None:
            self._gate.wait()
        if agent_steps == self._fails_at:
            raise ConnectionError("the tool's server is gone")
        self.rows.append((agent_steps, values))

    def close(self) -> None:
        self.is_closed = True


def test_rows_reach_the_tool_in_order_and_as_they_were_then():
    sink = Remembered()
    tracker = BackgroundTracker("x", lambda: sink)
    values = {"a": 1.0}
    tracker.write(1, values)
    values["a"] = 2.0
    tracker.write(2, values, always=True)
    tracker.close()
    tracker.close()
    assert sink.rows == [(1, {"a": 1.0}), (2, {"a": 2.0})]
    assert sink.is_closed


def test_a_tool_that_cannot_be_opened_or_fails_is_named_once_and_gets_nothing_more(
    caplog: pytest.LogCaptureFixture,
):
    def unopened() -> Remembered:
        # As W&B does it where nothing can be asked.
        raise SystemExit("no key")

    failing = Remembered(fails_at=2)
    trackers = [BackgroundTracker("one", unopened), BackgroundTracker("two", lambda: failing)]
    with caplog.at_level(logging.WARNING):
        for tracker in trackers:
            for step in range(1, 5):
                tracker.write(step, {"a": 1.0})
            tracker.close()
    assert failing.rows == [(1, {"a": 1.0})]
    assert caplog.messages == [
        "one gets no more metrics of this run: SystemExit: no key",
        "two gets no more metrics of this run: ConnectionError: the tool's server is gone",
    ]


def test_a_tool_that_hangs_holds_up_neither_a_row_nor_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(background_trackers, "MAX_WAITING", 3)
    monkeypatch.setattr(background_trackers, "CLOSE_SECONDS", 0.1)
    gate = threading.Event()
    sink = Remembered(gate=gate)
    tracker = BackgroundTracker("x", lambda: sink)
    begun = time.monotonic()
    for step in range(20):
        tracker.write(step, {"a": 1.0})
    tracker.close()
    assert time.monotonic() - begun < 5
    assert caplog.messages[0] == "x did not finish within 0 s: its copy may lack rows"
    assert caplog.messages[1].endswith("rows are not in its copy")
    gate.set()
    tracker.close()
    assert [step for step, _ in sink.rows] == list(range(len(sink.rows)))
    assert 3 <= len(sink.rows) <= 4
    assert sink.is_closed


def test_the_names_of_the_setting_are_those_of_the_tools():
    assert tuple(SINKS) == TRACKERS
