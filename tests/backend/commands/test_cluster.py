"""`attract cluster`: it takes every flag of `attract train` and passes it on; what cannot be is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attract.cluster.plan import ClusterPlan
from attract.commands import cluster
from attract.commands.cluster import ClusterOptions, plan_of
from attract.commands.train import TrainOptions
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings

OPTIONS = ClusterOptions(hosts=4)
TRAIN = TrainOptions()


def plan(
    train: TrainOptions = TRAIN,
    options: ClusterOptions = OPTIONS,
    words: tuple[str, ...] = (),
    **server: object,
) -> ClusterPlan:
    return plan_of("cartpole", words, train, 3, options, ServerSettings.model_validate(server))


def test_a_plan_has_a_run_to_go_on_with_and_a_token_of_its_own():
    first, second = plan(), plan()
    assert first.run_id.startswith("cartpole-") and first.run_id != second.run_id
    assert len(first.token) >= 32 and first.token != second.token
    assert Path(first.runs_dir).is_absolute() and first.folder == str(Path.cwd())
    assert (first.port, first.admin_token, first.has_browsers) == (None, None, False)
    assert plan(replace(TRAIN, run_id="mine")).run_id == "mine"


def test_tokens_and_a_port_that_were_chosen_are_kept(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("a-token-from-a-file\n")
    file.chmod(0o600)
    chosen = plan(worker_token_file=file, admin_token="the-admin-s-own-token", port=9000)
    assert chosen.token == "a-token-from-a-file"
    assert (chosen.admin_token, chosen.port) == ("the-admin-s-own-token", 9000)
    assert plan(port=0).port is None


def test_browsers_are_the_trainer_s_own_or_the_hosts():
    alone = ClusterOptions()
    assert plan(options=alone).has_browsers
    assert not plan(replace(TRAIN, headless=False), alone).has_browsers


@pytest.mark.parametrize(
    ("words", "hosts", "server", "said"),
    [
        (("--headless",), 4, {}, "--headless: with --hosts, the trainer has no browsers"),
        ((), 4, {"behind_proxy": "10.0.0.1"}, "--hosts: hosts of a cluster join the trainer directly"),
        ((), 4, {"worker_token": "short"}, "characters"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], hosts: int, server: dict[str, object], said: str):
    with pytest.raises(ConfigurationError, match=said):
        plan(TRAIN, ClusterOptions(hosts=hosts), words, **server)


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ClusterPlan, str]]:
    """What was to be trained on a cluster, and its address."""
    found: list[tuple[ClusterPlan, str]] = []
    monkeypatch.setattr(cluster, "train_on_cluster", lambda *given: found.append(given) or 3)
    return found


def test_flags_of_train_are_passed_on_as_they_are(
    attract: Callable[..., object], placed: list[tuple[ClusterPlan, str]], tmp_path: Path
) -> None:
    words = ("--until-return", "475", "--workers", "3", "--run-id", "r", "--resume=auto", "--no-headless")
    words += ("--runs-dir", str(tmp_path), "--port", "8123", "--ppo.gamma", "0.9")
    assert attract("cluster", "cartpole", *words, "--hosts", "2", "--address", "10.0.0.1:6379") == 3
    ((plan, address),) = placed
    passed = tuple("--resume-auto" if word == "--resume=auto" else word for word in words)
    assert (plan.game, plan.words, plan.workers, plan.run_id) == ("cartpole", passed, 3, "r")
    assert (plan.has_browsers, plan.hosts, plan.runs_dir, plan.port) == (False, 2, str(tmp_path), 8123)
    assert address == "10.0.0.1:6379"


def test_workers_of_each_host_are_those_that_the_game_or_a_variable_says(
    attract: Callable[..., object],
    placed: list[tuple[ClusterPlan, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_COLLECTION_NUM_WORKERS", "5")
    attract("cluster", "cartpole", "--hosts", "2")
    ((plan, address),) = placed
    assert (plan.workers, plan.hosts, address) == (5, 2, "auto")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-game",), "there is no game 'no-such-game'"),
        (("cartpole", "--ppo.gamma", "7"), "--ppo.gamma"),
        (("cartpole", "--ppo.gama", "0.9"), "--ppo.gama"),
        (("cartpole", "--workers", "some"), "--workers"),
        (("cartpole", "--gpus", "-1"), "--gpus"),
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
    monkeypatch.setattr(cluster, "check_installed", lambda *_asked: None)

    def connected(*_arguments: object) -> None:
        raise AssertionError("it was connected")

    monkeypatch.setattr(cluster, "connected", connected)
    assert attract("cluster", *words) in (1, 2)
    assert said in capsys.readouterr().err
