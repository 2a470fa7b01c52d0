"""A guest's rewards are changed on their way: it is left out, and the run learns as if it had not been there."""

import asyncio
import secrets
from pathlib import Path

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.gateway import running_gateway
from attract.schema.api import RunView
from attract.settings import ServerSettings
from frame_proxy import FrameProxy, Message, changed

GOAL = 475.0
LIMIT_SECONDS = 200.0


async def test_C10_a_guest_whose_rewards_are_false_is_left_out_and_an_honest_one_is_not(tmp_path: Path) -> None:
    token = secrets.token_hex(32)
    settings = ServerSettings(port=0, runs_dir=tmp_path, worker_token=token)
    forged = 0

    async def forge(message: Message) -> bytes:
        nonlocal forged
        if not message.to_gateway or message.kind != "block":
            return message.raw
        forged += 1
        return changed(message, _rewards_times_100(message.body))

    hosts: list[HostProcess] = []
    async with running_gateway(settings, port_is_fixed=False) as gateway:
        proxy = FrameProxy("127.0.0.1", gateway.port, forge, rewrite_host=True)
        notes: list[str] = []
        gateway.service.subscribe(lambda kind, body: notes.append(str(body)))
        view = await gateway.service.start_run(
            "cartpole",
            {"collection": {"num_workers": 3}, "until_return": GOAL, "seed": 1, "total_steps": 3_000_000},
        )
        try:
            port = await proxy.start()
            guest = gateway.guard.issue("worker", tier="invited")
            for url, key in (
                (gateway.url, token),
                (gateway.url, gateway.guard.issue("worker", tier="invited")),
                (f"http://127.0.0.1:{port}/", guest),
            ):
                hosts.append(await HostProcess.start(join_url(url, key, 1), lambda event: None))
            await asyncio.wait_for(gateway.service.wait(view.run_id), LIMIT_SECONDS)
        finally:
            for host in hosts:
                await host.stop()
            await proxy.stop()
        ended: RunView = gateway.service.view(view.run_id)
    assert forged, "the liar never sent a block"
    assert ended.state == "finished", ended.error
    assert ended.evaluation is not None
    print(ended)
    print([one for one in notes if "C10" in one])
