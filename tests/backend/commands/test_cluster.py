"""What `attract cluster` plans and refuses before it starts anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from attract.commands.cluster import ClusterOptions, plan_of
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings

ORDER = ClusterOptions(game="cartpole", words=(), cells=2, hosts=4, gpus=0, workers=3)


def plan(order: ClusterOptions = ORDER, **server: object):
    return plan_of(order, ServerSettings.model_validate(server), {"A": "b"}, Path("/here"))


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
    assert plan(replace(ORDER, hosts=0)).has_browsers
    assert not plan(replace(ORDER, hosts=0, headless=False)).has_browsers


@pytest.mark.parametrize(
    ("order", "server", "said"),
    [
        (replace(ORDER, words=("--headless",)), {}, "--headless: with --hosts, cells have no browsers"),
        (replace(ORDER, hosts=1), {}, "--hosts: 1 for 2 cells"),
        (ORDER, {"behind_proxy": "10.0.0.1"}, "--hosts: hosts of a cluster join their cells directly"),
        (ORDER, {"worker_token": "short"}, "characters"),
    ],
)
def test_what_cannot_be_is_refused(order: ClusterOptions, server: dict[str, object], said: str):
    with pytest.raises(ConfigurationError, match=said):
        plan(order, **server)
