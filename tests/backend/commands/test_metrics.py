"""What `attract metrics` says of a run."""

import json
from pathlib import Path

import pytest

from attract.commands.json_output import MAX_ANSWER_BYTES, json_text
from attract.commands.metrics import metrics_lines, run_metrics
from attract.errors import ConfigurationError, DamagedRunError
from attract.runs.metrics import MetricsStore, UpdateRow


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a run, `r`, without an update."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "config.yaml").write_text("game: cartpole\nsettings: {}\n")
    return tmp_path


def fill(runs: Path, num_updates: int, **values: float) -> None:
    """Each metric grows by its value from update to update, from 0; agent steps are 100 x update."""
    store = MetricsStore(runs / "r" / "metrics.db")
    for update in range(1, num_updates + 1):
        store.commit_update(
            UpdateRow(
                update=update,
                agent_steps=100 * update,
                collected_steps=100 * update,
                seconds=update / 10,
                policy_version=update,
                checkpoint=f"checkpoints/{update}",
                weights_sha256="0" * 64,
                values={name.replace("__", "/"): (update - 1) * by for name, by in values.items()},
            ),
            {},
        )
    store.close()


def test_all_metrics_are_said_without_values(runs: Path) -> None:
    fill(runs, 5, rollout__ep_rew_mean=2.0, loss=-1 / 3)
    answer = json.loads(json_text(run_metrics(runs, "r")))
    assert answer == {
        "run_id": "r",
        "agent_steps": 500,
        "axis": None,
        "metrics": {
            "loss": {"first": 0.0, "last": -1.33333, "low": -1.33333, "high": 0.0, "values": None},
            "rollout/ep_rew_mean": {"first": 0.0, "last": 8.0, "low": 0.0, "high": 8.0, "values": None},
        },
        "left_out": [],
    }


def test_metrics_that_are_named_have_values_on_one_axis(runs: Path) -> None:
    fill(runs, 40, rollout__ep_rew_mean=1.0, loss=1.0)
    answer = run_metrics(runs, "r", ("rollout/*",))
    assert list(answer.metrics) == ["rollout/ep_rew_mean"]
    # Twenty buckets of two updates: 100 x 1.5, and values 0 and 1.
    assert answer.axis is not None and answer.axis[:2] == [150, 350]
    assert answer.metrics["rollout/ep_rew_mean"].values == [2 * i + 0.5 for i in range(20)]
    few = run_metrics(runs, "r", ("loss",), points=4)
    assert few.metrics["loss"].values == [4.5, 14.5, 24.5, 34.5]
    # What is between is no value of an update; the extremes are.
    assert (few.metrics["loss"].first, few.metrics["loss"].high) == (0, 39)
    text = "\n".join(metrics_lines(few))
    assert "r: 4,000 agent steps" in text
    assert "loss: 0 -> 39  (between 0 and 39)\n    4.5 14.5 24.5 34.5" in text
    assert "values at agent steps 550 1,550 2,550 3,550" in text


def test_a_long_answer_names_what_it_leaves_out(runs: Path) -> None:
    fill(runs, 3, **{f"metric{i:03}": 0.123456 for i in range(300)})
    answer = run_metrics(runs, "r")
    assert len(json_text(answer)) <= MAX_ANSWER_BYTES
    assert 10 < len(answer.metrics) < 290
    assert [*answer.metrics, *answer.left_out] == [f"metric{i:03}" for i in range(300)]
    assert run_metrics(runs, "r", points=0).left_out == []


def test_an_answer_about_very_many_metrics_is_short_too(runs: Path) -> None:
    fill(runs, 30, **{f"a_metric_with_a_long_name_{i:04}": 0.123456 for i in range(600)})
    answer = run_metrics(runs, "r", ("*",))
    assert len(json_text(answer)) <= MAX_ANSWER_BYTES
    assert len(answer.metrics) > 5
    # Half of 8,000 bytes, 33 for each name with its quotes and its comma: 30 characters.
    assert len(answer.left_out) == 4_000 // 33 + 1
    assert answer.left_out[-1] == f"and {600 - len(answer.metrics) - 4_000 // 33} more"
    assert len(run_metrics(runs, "r", points=0).metrics) == 600


def test_hostile_a_name_of_a_metric_stays_in_its_line(runs: Path) -> None:
    fill(runs, 2, **{"game/x\x1b[31m\n  forged: 1": 1.0})
    assert metrics_lines(run_metrics(runs, "r"))[1:] == [
        "  game/x\\x1b[31m\\n  forged: 1: 0 -> 1  (between 0 and 1)"
    ]


def test_a_run_without_an_update_has_none(runs: Path) -> None:
    answer = run_metrics(runs, "r")
    assert (answer.agent_steps, answer.metrics) == (None, {})
    assert metrics_lines(answer) == ["r: no update yet"]
    assert not (runs / "r" / "metrics.db").exists()


def test_what_is_not_there_is_named(runs: Path) -> None:
    fill(runs, 1, loss=1.0)
    with pytest.raises(ConfigurationError, match="no run gone"):
        run_metrics(runs, "gone")
    with pytest.raises(ConfigurationError, match="no metric 'los'\n  did you mean loss"):
        run_metrics(runs, "r", ("los",))
    (runs / "r" / "metrics.db").write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedRunError, match=r"metrics\.db"):
        run_metrics(runs, "r")
