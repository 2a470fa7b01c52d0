"""`attract cluster`: it takes every flag of `attract train` and passes it on; what cannot be is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attract.cluster import engine
from attract.commands import cluster
from attract.commands.cluster import CellOrder, ClusterOptions, plan_of
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings

ORDER = CellOrder(game="cartpole", words=(), workers=3)
OPTIONS = ClusterOptions(cells=2, hosts=4)


def plan(order: CellOrder = ORDER, options: ClusterOptions = OPTIONS, **server: object):
    return plan_of(order, options, ServerSettings.model_validate(server), {"A": "b"}, Path("/here"))


def test_a_plan_has_a_run_to_go_on_with_and_a_token_of_its_own():
    first, second = plan(), plan()
    assert first.run_id.startswith("cartpole-") and first.run_id != second.run_id
    assert len(first.token) >= 32 and first.token != second.token
    assert Path(first.runs_dir).is_absolute() and first.folder == "/here"
    assert (first.port, first.admin_token, first.has_browsers) == (None, None, False)
    assert plan(replace(ORDER, run_id="mine")).run_id == "mine"


def test_tokens_and_a_port_that_were_chosen_are_kept(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("a-token-from-a-file\n")
    file.chmod(0o600)
    chosen = plan(worker_token_file=file, admin_token="the-admin-s-own-token", port=9000)
    assert chosen.token == "a-token-from-a-file"
    assert (chosen.admin_token, chosen.port) == ("the-admin-s-own-token", 9000)
    assert plan(port=0).port is None


def test_browsers_are_the_cells_own_or_the_hosts():
    alone = ClusterOptions(cells=2)
    assert plan(options=alone).has_browsers
    assert not plan(replace(ORDER, headless=False), alone).has_browsers


@pytest.mark.parametrize(
    ("words", "hosts", "server", "said"),
    [
        (("--headless",), 4, {}, "--headless: with --hosts, cells have no browsers"),
        ((), 1, {}, "--hosts: 1 for 2 cells"),
        ((), 4, {"behind_proxy": "10.0.0.1"}, "--hosts: hosts of a cluster join their cells directly"),
        ((), 4, {"worker_token": "short"}, "characters"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], hosts: int, server: dict[str, object], said: str):
    with pytest.raises(ConfigurationError, match=said):
        plan(replace(ORDER, words=words), ClusterOptions(cells=2, hosts=hosts), **server)


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[CellOrder, ClusterOptions, ServerSettings]]:
    """What was to be trained on a cluster."""
    found: list[tuple[CellOrder, ClusterOptions, ServerSettings]] = []

    def train_on_cluster(order: CellOrder, options: ClusterOptions, server: ServerSettings) -> int:
        found.append((order, options, server))
        return 3

    monkeypatch.setattr(cluster, "train_on_cluster", train_on_cluster)
    return found


def test_flags_of_train_are_passed_on_as_they_are(
    attract: Callable[..., object],
    placed: list[tuple[CellOrder, ClusterOptions, ServerSettings]],
    tmp_path: Path,
) -> None:
    words = ("--until-return", "475", "--workers", "3", "--run-id", "r", "--resume=auto", "--no-headless")
    words += ("--runs-dir", str(tmp_path), "--port", "8123", "--ppo.gamma", "0.9")
    assert attract("cluster", "cartpole", *words, "--cells", "2", "--address", "10.0.0.1:6379") == 3
    ((order, options, server),) = placed
    passed = tuple("--resume-auto" if word == "--resume=auto" else word for word in words)
    assert order == CellOrder("cartpole", passed, 3, run_id="r", headless=False)
    assert options == ClusterOptions(cells=2, address="10.0.0.1:6379")
    assert (server.runs_dir, server.port) == (tmp_path, 8123)


def test_workers_of_each_host_are_those_that_the_game_or_a_variable_says(
    attract: Callable[..., object],
    placed: list[tuple[CellOrder, ClusterOptions, ServerSettings]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_COLLECTION_NUM_WORKERS", "5")
    attract("cluster", "cartpole", "--hosts", "2")
    ((order, options, _),) = placed
    assert (order.workers, options.hosts, options.cells, options.address) == (5, 2, 1, "auto")


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
