"""A guest's rewards are changed on their way: it is left out, and the run learns as without it."""

import asyncio
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from gateway_world import start_run
from proxy import FrameProxy, Message, changed
from zygote import start_learner

GOAL = 475.0
"""95 % of what a clean run reaches: no episode of CartPole brings more than 500."""
LIMIT_SECONDS = 220.0


class Liar:
    """Changes what a browser sends of training: rewards and returns a hundredfold, so that they agree."""

    def __init__(self) -> None:
        self.num_blocks = 0

    async def decide(self, message: Message) -> bytes:
        """What is forwarded of a message."""
        if not message.to_gateway or message.kind != "block":
            return message.raw
        self.num_blocks += 1
        body: dict[str, Any] = message.body
        reward = np.frombuffer(body["reward"]["data"], "<f4") * np.float32(100)
        body["reward"]["data"] = reward.tobytes()
        body["episodes"]["returns"] = [100.0 * value for value in body["episodes"]["returns"]]
        return changed(body)


# `make test` has liars of every kind, this one too, in backend/collection/test_auditing.py, and replays by a
# real browser in test_page_visitors.py.
@pytest.mark.long
async def test_C10_a_guest_whose_rewards_are_false_is_left_out_and_an_honest_one_trains(
    tmp_path: Path,
) -> None:
    token = secrets.token_hex(32)
    settings = ServerSettings(port=0, runs_dir=tmp_path, worker_token=token)
    liar = Liar()
    hosts: list[HostProcess] = []
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        proxy = FrameProxy(int(gateway.url.rpartition(":")[2]), liar.decide)
        proxy_url = f"http://127.0.0.1:{await proxy.start()}"
        view = await start_run(
            gateway.service, "cartpole", {"collection": {"num_workers": 3}, "until_return": GOAL, "seed": 1}
        )
        run: Any = gateway.service.active
        honest, false = (gateway.guard.issue("worker", tier="invited") for _ in range(2))
        try:
            for url, key in (
                (gateway.url, gateway.guard.issue("worker")),
                (gateway.url, honest),
                (proxy_url, false),
            ):
                hosts.append(await HostProcess.start(join_url(url, key, 1), lambda _event: None))
            result = await asyncio.wait_for(gateway.service.wait_finished(), LIMIT_SECONDS)
        finally:
            for host in hosts:
                await host.stop()
            await proxy.cut()
        ended = gateway.service.view(view.run_id)
        audit = run.runner.collection.described.audit
        first_versions = run.runner.collection.first_versions
        workers = run.runner.collection.fleet.workers.values()
        by_token = {worker.identity: worker for worker in workers if worker.tier == "invited"}
    print(audit.standings, audit.num_replayed, ended.reports)
    caught = [identity for identity, standing in audit.standings.items() if standing.caught is not None]
    assert liar.num_blocks > 0
    assert audit.off is None
    assert len(caught) == 1, audit.standings
    assert "reward of agent 0" in audit.standings[caught[0]].caught
    assert "C10" in (run.runner.collection.conduct.reason(caught[0]) or "")
    (other,) = set(by_token) - set(caught)
    assert audit.standings[other].valid >= 10
    assert first_versions[other] >= 1
    # Nothing of the liar was ever trained, so there is nothing to go back before.
    assert caught[0] not in first_versions
    assert any("is banned" in report.text for report in ended.reports)
    assert result.goal_reached
