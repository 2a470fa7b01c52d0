"""The whole HTTP API under requests made up from its own schema: no answer is a 5xx."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st

from gateway_world import GatewayWorld, gateway

ROLES = ("admin", "viewer", "worker", "nobody")
NEGATIVE = schemathesis.GenerationMode.NEGATIVE
TIMEOUT_SECONDS = 60.0


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[GatewayWorld, str]]:
    """A gateway in a thread of its own, with one run that was trained; gives that run's id too."""
    ready: asyncio.Future[tuple[GatewayWorld, str]]
    loop = asyncio.new_event_loop()
    ready, over = loop.create_future(), asyncio.Event()

    async def serve() -> None:
        async with gateway(folder) as world:
            async with world.fleet().joined():
                view = await world.start(total_steps=128)
                await world.service.wait_finished()
            ready.set_result((world, view.run_id))
            await over.wait()

    task = loop.create_task(serve())
    thread = threading.Thread(target=loop.run_until_complete, args=(task,))
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(asyncio.wait_for(asyncio.shield(ready), 60), loop).result()
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def ask(folder: Path, max_examples: int) -> Counter[tuple[str, int]]:
    """So many requests of each kind by each role; how many answers had which status."""
    statuses: Counter[tuple[str, int]] = Counter()
    with served(folder) as (world, run_id), httpx.Client(timeout=TIMEOUT_SECONDS) as client:
        client.base_url = f"http://127.0.0.1:{world.port}"
        schema = schemathesis.openapi.from_dict(world.app.openapi())
        tokens = {
            role: world.guard.admin_token if role == "admin" else world.guard.issue(role)  # type: ignore[arg-type]
            for role in ROLES[:-1]
        }
        headers = {role: {"authorization": f"Bearer {token}"} for role, token in tokens.items()}
        for result in schema.get_all_operations():
            operation = result.ok()
            cases = st.one_of(operation.as_strategy(), operation.as_strategy(generation_mode=NEGATIVE))
            for role in ROLES:
                wanted = headers.get(role, {})
                statuses.update(
                    (role, status) for status in _ask(client, cases, wanted, run_id, max_examples)
                )
    return statuses


def _ask(
    client: httpx.Client, cases: Any, headers: dict[str, str], run_id: str, max_examples: int
) -> list[int]:
    """The statuses of so many requests, some of which name the run that is there."""
    statuses: list[int] = []

    @hypothesis.settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases, is_known=st.booleans())
    def check(case: Any, is_known: bool) -> None:
        # Once deleted it is known to no request after.
        if is_known and case.method.upper() != "DELETE" and "run_id" in (case.path_parameters or {}):
            case.path_parameters["run_id"] = run_id
        statuses.append(answer(client, case, headers))
        assert statuses[-1] < 500, case.as_curl_command(headers=headers)

    check()
    return statuses


def answer(client: httpx.Client, case: Any, headers: dict[str, str]) -> int:
    """Send it as the role would; the status. An endless answer is not read to its end."""
    request = case.as_transport_kwargs(base_url=str(client.base_url))
    for name in ("cookies", "allow_redirects", "timeout", "files"):
        request.pop(name, None)
    request["headers"] = {**dict(request.get("headers") or {}), **headers}
    data = request.pop("data", None)
    if data is not None:
        request["content"] = data
    try:
        with client.stream(request.pop("method"), request.pop("url"), **request) as response:
            return response.status_code
    except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError):
        # Not to be put into a request at all.
        return 0


def test_no_request_of_any_role_is_answered_by_a_5xx(tmp_path: Path) -> None:
    statuses = ask(tmp_path, 2)
    print(sorted(statuses.items()))
    assert {status for _, status in statuses} >= {200, 401, 403, 404, 422}


@pytest.mark.long
def test_no_request_of_more_is_answered_by_a_5xx(tmp_path: Path) -> None:
    print(sorted(ask(tmp_path, 8).items()))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_request_of_very_many_is_answered_by_a_5xx(tmp_path: Path) -> None:
    print(sorted(ask(tmp_path, 300).items()))
