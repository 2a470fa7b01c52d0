"""What `attract cluster` is called with: it takes every flag of `attract train` and passes it on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.cluster import engine
from attract.commands import cluster
from attract.commands.cluster import ClusterOptions
from attract.settings.run import ServerSettings


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ClusterOptions, ServerSettings]]:
    """What was to be trained on a cluster."""
    found: list[tuple[ClusterOptions, ServerSettings]] = []

    def train_on_cluster(order: ClusterOptions, server: ServerSettings) -> int:
        found.append((order, server))
        return 3

    monkeypatch.setattr(cluster, "train_on_cluster", train_on_cluster)
    return found


def test_flags_of_train_are_passed_on_as_they_are(
    attract: Callable[..., object], placed: list[tuple[ClusterOptions, ServerSettings]], tmp_path: Path
) -> None:
    words = ("--until-return", "475", "--workers", "3", "--run-id", "r", "--resume=auto", "--no-headless")
    words += ("--runs-dir", str(tmp_path), "--port", "8123", "--ppo.gamma", "0.9")
    assert attract("cluster", "cartpole", *words, "--cells", "2", "--address", "10.0.0.1:6379") == 3
    ((order, server),) = placed
    passed = tuple("--resume-auto" if word == "--resume=auto" else word for word in words)
    assert order == ClusterOptions(
        *("cartpole", passed, 2, 0, 0, 3), address="10.0.0.1:6379", run_id="r", headless=False
    )
    assert (server.runs_dir, server.port) == (tmp_path, 8123)


def test_workers_of_each_host_are_those_that_the_game_or_a_variable_says(
    attract: Callable[..., object],
    placed: list[tuple[ClusterOptions, ServerSettings]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_COLLECTION_NUM_WORKERS", "5")
    attract("cluster", "cartpole", "--hosts", "2")
    ((order, _),) = placed
    assert (order.workers, order.hosts, order.cells, order.address) == (5, 2, 1, "auto")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-game",), "there is no game 'no-such-game'"),
        (("cartpole", "--ppo.gamma", "7"), "--ppo.gamma"),
        (("cartpole", "--ppo.gama", "0.9"), "--ppo.gama"),
        (("cartpole", "--workers", "some"), "--workers"),
        (("cartpole", "--cells", "0"), "--cells"),
        (("cartpole", "--resume-auto", "--hosts", "1", "--cells", "2"), "some cells would have no workers"),
        (("cartpole", "--address", "127.0.0.1:1"), "no Ray cluster answers at 127.0.0.1:1"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    attract: Callable[..., object],
    words: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(engine, "check_ray", lambda: None)
    monkeypatch.setattr(cluster, "check_ray", lambda: None)

    def connected(*_arguments: object) -> None:
        raise AssertionError("it was connected")

    monkeypatch.setattr(cluster, "connected", connected)
    assert attract("cluster", *words) in (1, 2)
    assert said in capsys.readouterr().err
