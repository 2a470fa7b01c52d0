"""Programs outside that play, real processes and servers: quick, slow, and hostile in every way we know."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from attract.errors import ConfigurationError, ProtocolError
from attract.run.outside_players import OutsidePlayers
from attract.schema.game import GameDescription
from attract.schema.outside import Ask
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    MultiDiscreteSpace,
    SetSpace,
)
from attract.schema.tensor import from_numpy
from attract.settings.run import ServerSettings

LOOP = "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
GOOD = LOOP + "    print(json.dumps({'id': asked['id'], 'action': asked['seat'] + 1}), flush=True)\n"


def described(
    action: ActionSpace | None = None, *, observation: Any = None, mask: bool = False, idle: Any = None
) -> GameDescription:
    return GameDescription(
        id="Asked-v1",
        tick_seconds=0.1,
        seconds_per_step=0.1,
        ticks_per_step=1,
        max_seconds=None,
        max_steps=None,
        num_agents=2,
        observation=observation or BoxSpace(shape=[2]),
        action=action or DiscreteSpace(n=3),
        action_mask=mask,
        idle_action=idle,
    )


def asked(rows: int = 1, *, mask: Any = None, seat: int = 1, **observation: Any) -> Ask:
    seen = observation or {"obs": np.array([[row, 0.5] for row in range(rows)], np.float32)}
    return Ask(
        run_id="run",
        order_id=7,
        policy_id="outside:bot",
        agent=[seat] * rows,
        observation={key: from_numpy(array) for key, array in seen.items()},
        action_mask=None if mask is None else from_numpy(np.array(mask, np.uint8)),
    )


class Table:
    """Programs, and what was said of them."""

    def __init__(self, place: str, *, seconds: float = 1.0, start_seconds: float = 20.0) -> None:
        self.said: list[str] = []
        programs = ServerSettings(outside={"bot": place}).outside
        self.players = OutsidePlayers(programs, seconds, self.said.append, start_seconds=start_seconds)

    async def play(self, ask: Ask, game: GameDescription | None = None) -> list[Any]:
        game = game or described()
        async with asyncio.timeout(60):
            return (await self.players.actions(self.players.questions(ask, game), game)).tolist()


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Callable[..., Table]]:
    tables: list[Table] = []

    def open_table(code: str, **options: float) -> Table:
        (tmp_path / "bot.py").write_text(code)
        tables.append(Table(f"{sys.executable} -u {tmp_path / 'bot.py'}", **options))
        return tables[-1]

    yield open_table
    for table in tables:
        await table.players.close()


async def test_each_question_has_its_own_answer_in_whatever_order(opened: Callable[..., Table]) -> None:
    # Pairs of answers the wrong way round; the action of row r is r modulo 3.
    table = opened(
        "import json, sys\nheld = []\nfor line in sys.stdin:\n    held.append(json.loads(line))\n"
        "    if len(held) == 2:\n        for one in reversed(held):\n"
        "            print(json.dumps({'id': one['id'], 'action': int(one['observation'][0]) % 3}))\n"
        "        held = []\n"
    )
    assert await table.play(asked(20)) == [row % 3 for row in range(20)]
    assert table.said == []
    (report,) = table.players.reports()
    assert (report.player, report.decisions, report.defaults) == ("outside:bot", 20, 0)


async def test_a_question_has_what_the_agent_sees(opened: Callable[..., Table], tmp_path: Path) -> None:
    table = opened(
        f"import sys\nline = sys.stdin.readline()\nopen({str(tmp_path / 'seen')!r}, 'w').write(line)\n"
        'print(\'{"id": 1, "action": [2, 0]}\')\nsys.stdin.read()\n'
    )
    space = DictSpace(
        spaces={
            "card": DiscreteSpace(n=9),
            "eye": BoxSpace(dtype="uint8", shape=[1, 2, 3]),
            "pair": BoxSpace(shape=[2]),
            "rocks": SetSpace(max=3, shape=[1]),
        }
    )
    game = described(MultiDiscreteSpace(nvec=[3, 2]), observation=space, mask=True)
    ask = asked(
        mask=[[0, 0, 1, 1, 1]],
        card=np.array([4], np.int32),
        eye=np.array([[[[1, 2, 3], [4, 5, 6]]]], np.uint8),
        pair=np.array([[0.5, -1]], np.float32),
        rocks=np.array([[[7, 1], [8, 1], [0, 0]]], np.float32),
    )
    assert await table.play(ask, game) == [[2, 0]]
    assert json.loads((tmp_path / "seen").read_text()) == {
        "id": 1,
        "seat": 1,
        "observation": {
            "card": 4,
            "eye": {"picture": "AQIDBAUG", "shape": [1, 2, 3]},
            "pair": [0.5, -1.0],
            "rocks": [[7.0], [8.0]],
        },
        "mask": [0, 0, 1, 1, 1],
        "deadline": 1.0,
    }


async def test_P6_a_box_action_travels_in_its_unit_space(opened: Callable[..., Table]) -> None:
    space = BoxSpace(shape=[3], low=[0, -2, -1], high=[10, 2, 1])
    code = GOOD.replace("asked['seat'] + 1", "[5, 2, -99]")
    # (2 * 5 / 10 - 1, 2 * 4 / 4 - 1, clipped)
    assert await opened(code).play(asked(), described(space)) == [[0, 1, -1]]


MIXED = MixedSpace(
    spaces={
        "gear": DiscreteSpace(n=3),
        "aim": BoxSpace(shape=[2], low=0, high=[800, 600]),
        "button": DiscreteSpace(n=2),
    }
)


async def test_P6_a_mixed_action_is_an_object_of_its_parts(opened: Callable[..., Table]) -> None:
    said = "{'aim': [400, 600], 'button': asked['seat'], 'gear': 2}"
    code = GOOD.replace("asked['seat'] + 1", said)
    played = await opened(code).play(asked(mask=[[1, 1, 0, 1, 1]]), described(MIXED, mask=True))
    # Choices by name, then the box: 2 * 400 / 800 - 1, 2 * 600 / 600 - 1.
    assert played == [[1, 2, 0, 1]]


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("[1, 2, 0, 0]", "an object with aim, button, gear is an action"),
        ("{'aim': [1, 1], 'button': 0}", "an object with aim, button, gear is an action"),
        ("{'aim': [1, 1], 'button': 0, 'gear': 0, 'x': 1}", "an object with aim, button, gear is an action"),
        ("{'aim': [1], 'button': 0, 'gear': 1}", "aim: 2 finite numbers are an action"),
        ("{'aim': [1, float('nan')], 'button': 0, 'gear': 1}", "aim: 2 finite numbers are an action"),
        ("{'aim': [1, 1], 'button': 2, 'gear': 1}", "button: a whole number from 0 to 1 is an action"),
        ("{'aim': [1, 1], 'button': 0, 'gear': 0}", "gear: the mask does not allow 0"),
    ],
)
async def test_a_part_of_a_mixed_action_that_is_none_costs_the_default_and_is_named(
    said: str, says: str, opened: Callable[..., Table]
) -> None:
    table = opened(GOOD.replace("asked['seat'] + 1", said))
    played = await table.play(asked(mask=[[1, 1, 0, 1, 1]]), described(MIXED, mask=True))
    # Zeros in the game's units, the first choice that is allowed.
    assert played == [[0, 1, -1, -1]]
    assert any(says in text for text in table.said), table.said


async def test_a_slow_program_has_its_whole_deadline_for_each_question(opened: Callable[..., Table]) -> None:
    # 12 questions of 0.25 s each, one after the other, are more than the deadline of one.
    table = opened("import time\n" + GOOD.replace("    print", "    time.sleep(0.25)\n    print"))
    assert await table.play(asked(12)) == [2] * 12
    assert table.said == []


HOSTILE = {
    "hangs": (LOOP + "    pass\n", "answers nothing"),
    "floods with lines": ("while True: print('{}')\n", "an answer has the `id`"),
    "floods after it was asked": (LOOP + "    while True: print('{}')\n", "an answer has the `id`"),
    "sends megabytes on a line": (LOOP + "    print('x' * (1 << 22))\n", "more than 65,536 bytes"),
    "sends megabytes without a line": (
        "import sys\nwhile True: sys.stdout.write('x' * 9999)\n", "more than 65,536 bytes",
    ),
    "is not JSON": (LOOP + "    print('up\\x1b[2J')\n", "answered `up\\x1b[2J`, which is not JSON"),
    "is JSON too deep": (LOOP + "    print('[' * 60000)\n", "which is not JSON"),
    "has a number too long": (LOOP + "    print('{\"id\": ' + '9' * 60000 + '}')\n", "which is not JSON"),
    "is no object": (LOOP + "    print('[1]')\n", "answered [1]; an answer has the `id`"),
    "dies": (LOOP + "    raise RuntimeError('no more')\n", "ended with exit code 1: RuntimeError: no more"),
    "dies at once": ("raise SystemExit(3)\n", "ended with exit code 3"),
    "is killed": (LOOP + "    import os; os.kill(os.getpid(), 9)\n", "was ended by signal 9"),
    "closes stdout": (LOOP + "    import os, time; os.close(1); time.sleep(60)\n", "closed its stdout"),
    "answers for another seat": (
        GOOD.replace("'action'", "'seat': 0, 'action'"), "for the seat 0 what the seat 1 was asked",
    ),
    "answers another question": (GOOD.replace("asked['id']", "asked['id'] + 50"), "which is not open"),
    "answers no question": (GOOD.replace("asked['id']", "None"), "an answer has the `id`"),
    "answers true": (GOOD.replace("asked['id']", "True"), "an answer has the `id`"),
    "says no action": (GOOD.replace("'action'", "'move'"), "without an `action`"),
    "an action outside of the space": (GOOD.replace("+ 1", "+ 2"), "the action 3: a whole number from"),
    "an action that is text": (GOOD.replace("asked['seat'] + 1", "'up'"), "answered the action 'up'"),
    "an action that is a fraction": (GOOD.replace("+ 1", "+ 0.5"), "answered the action 1.5"),
    "an action that is true": (GOOD.replace("asked['seat'] + 1", "True"), "answered the action True"),
    "an action that is NaN": (GOOD.replace("asked['seat'] + 1", "float('nan')"), "answered the action nan"),
    "a masked action": (GOOD.replace("asked['seat'] + 1", "0"), "the mask does not allow 0"),
    "floods stderr and hangs": (
        "import sys\n" + LOOP + "    while True: sys.stderr.write('x' * 9999)\n", "answers nothing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
async def test_a_hostile_program_costs_the_default_action_and_a_sentence(
    how: str, opened: Callable[..., Table]
) -> None:
    code, says = HOSTILE[how]
    table = opened(code, seconds=0.5, start_seconds=1.5)
    # The default is the idle action 2 where the mask allows it, else the first that is allowed.
    masks = [[0, 1, 1], [0, 1, 0]] * 8
    played = await table.play(asked(16, mask=masks), described(mask=True, idle=2))
    assert played == [2, 1] * 8
    assert any(says in text for text in table.said), table.said
    assert all(text.startswith(f"outside:bot ({sys.executable}") for text in table.said)
    assert all(text.isprintable() for text in table.said)
    assert len(table.said) <= 6, "each kind once"
    (report,) = table.players.reports()
    assert (report.decisions, report.defaults) == (16, 16)


async def test_a_program_that_hangs_now_and_then_loses_no_other_question(
    opened: Callable[..., Table],
) -> None:
    # It answers the fifth too late, and none in its place.
    table = opened(
        "import time\n"
        + GOOD.replace("    print", "    time.sleep(1.2 if asked['id'] == 5 else 0)\n    print")
    )
    played = await table.play(asked(10), described(idle=0))
    assert played == [2, 2, 2, 2, 0, 2, 2, 2, 2, 2]
    assert len(table.said) == 1 and "gave no answer within 1 s" in table.said[0]


async def test_a_program_that_died_is_started_again(opened: Callable[..., Table]) -> None:
    table = opened(GOOD + "    if asked['id'] % 4 == 0: raise SystemExit\n")
    for _ in range(20):
        assert (await table.play(asked()))[0] in (0, 2)
    (report,) = table.players.reports()
    assert report.defaults <= 5
    assert table.said[-1].endswith("ended with exit code 0")


async def test_a_program_that_writes_unasked_is_ended(opened: Callable[..., Table]) -> None:
    table = opened(GOOD + "    while True: print('{}')\n")
    assert await table.play(asked()) == [2]
    async with asyncio.timeout(20):
        while not table.said or "100 lines that nobody asked for" not in table.said[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_child_that_left_its_session_holds_up_nothing(
    opened: Callable[..., Table], tmp_path: Path
) -> None:
    table = opened(
        "import subprocess\nchild = subprocess.Popen(['sleep', '20'], start_new_session=True)\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        + GOOD.replace("    print", "    if asked['id'] == 2: raise SystemExit\n    print"),
        seconds=0.5,
    )
    # It ends with the second question, and its child keeps stdout open: no end of it is heard.
    assert (await table.play(asked(3)))[:2] == [2, 0]
    async with asyncio.timeout(5):
        await table.players.close()
    psutil.Process(int((tmp_path / "child").read_text())).kill()


async def test_its_children_end_with_it(opened: Callable[..., Table], tmp_path: Path) -> None:
    table = opened(
        "import subprocess\nchild = subprocess.Popen(['sleep', '99'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n" + GOOD
    )
    assert await table.play(asked()) == [2]
    await table.players.close()
    child = int((tmp_path / "child").read_text())
    async with asyncio.timeout(5):
        while psutil.pid_exists(child) and psutil.Process(child).status() != "zombie":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await table.play(asked()) == [0], "what is asked after the end has the default"


# --- over HTTP ---


@contextlib.asynccontextmanager
async def served(respond: Callable[[dict[str, Any]], bytes], *, delay: float = 0.0) -> AsyncIterator[str]:
    """A server that reads a request and writes these bytes, as many at a time as come."""

    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            question = json.loads(await reader.readexactly(length))
            await asyncio.sleep(delay)
            writer.write(respond(question))
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(talk(reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    server = await asyncio.start_server(came, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/play"
        for task in talks:
            task.cancel()
        while talks:
            await asyncio.wait(talks)


def ok(body: bytes, status: str = "200 OK", head: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode() + body


async def test_a_server_of_this_machine_plays() -> None:
    async with served(lambda question: ok(json.dumps({"action": question["seat"] + 1}).encode())) as url:
        table = Table(url)
        assert await table.play(asked(30)) == [2] * 30
        assert table.said == []
        await table.players.close()


HOSTILE_SERVERS: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "redirects": (lambda _: ok(b"", "302 Found", "location: {other}\r\n"), "redirects elsewhere (HTTP 302)"),
    "redirects with its body": (lambda _: ok(b"", "307 No", "location: {other}\r\n"), "(HTTP 307), which"),
    "fails": (lambda _: ok(b"{}", "500 No"), "answers (HTTP 500)"),
    "is too long": (lambda _: ok(b"x" * (1 << 22)), "answers more than 65,536 bytes"),
    "never ends": (lambda _: b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (1 << 22), "answers more than 65,536 bytes"),
    "is no HTTP": (lambda _: b"hello\r\n\r\n", "does not answer as HTTP wants it"),
    "closes": (lambda _: b"", "does not answer as HTTP wants it"),
    "has no end of its head": (lambda _: b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99_999, "does not answer as"),
    "is no JSON": (lambda _: ok(b"up"), "answered `up`, which is not JSON"),
    "answers another question": (lambda asked: ok(b'{"id": 99, "action": 1}'), "an answer has the `id`"),
    "is compressed": (lambda _: ok(b"\x1f\x8b\x08", head="content-encoding: gzip\r\n"), "which is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE_SERVERS)
async def test_a_hostile_server_costs_the_default_action_and_a_sentence(how: str) -> None:
    respond, says = HOSTILE_SERVERS[how]
    visits: list[Any] = []

    def visited(question: dict[str, Any]) -> bytes:
        visits.append(question)
        return ok(b'{"action": 1}')

    async with (
        served(visited) as other,
        served(lambda question: respond(question).replace(b"{other}", other.encode())) as url,
    ):
        table = Table(url, seconds=1.0)
        assert await table.play(asked(16), described(idle=2)) == [2] * 16
        assert any(says in text for text in table.said), table.said
        assert visits == []
        await table.players.close()


async def test_a_server_that_is_slow_or_refuses_costs_the_default_action() -> None:
    async with served(lambda _: ok(b'{"action": 1}'), delay=60) as url:
        table = Table(url, seconds=0.3, start_seconds=0.3)
        assert await table.play(asked(16)) == [0] * 16
        assert "gave no answer within 0.3 s" in table.said[0]
        await table.players.close()
    table = Table(url, seconds=0.3)
    assert await table.play(asked(40)) == [0] * 40
    assert table.said[0].endswith("refuses the connection")
    assert table.said[-1].endswith("is not asked any more: its seat takes the default action from now on")
    await table.players.close()


async def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with served(lambda _: ok(b'{"action": 1}')) as url:
        table = Table(url)
        assert await table.play(asked()) == [1]
        await table.players.close()


# --- what may be defined, and asked ---


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("bot", "a command or a URL"),
        ("bot=", "a command or a URL"),
        ("a b=python", "a command or a URL"),
        ("bot=nosuchprogram --fast", "there is no program 'nosuchprogram' here"),
        ("bot='python", "cannot be split into words"),
        ("bot=http://192.168.0.9:80/", "runs on this machine"),
        ("bot=http://example.org/", "runs on this machine"),
        ("bot=http://127.0.0.1.example.org/", "runs on this machine"),
        ("bot=http://localhost@example.org/", "runs on this machine"),
        ("bot=http://localhost:1@127.0.0.1/", "runs on this machine"),
        ("bot=http://[::ffff:10.0.0.1]/", "runs on this machine"),
        ("bot=http://0.0.0.0:80/", "runs on this machine"),
        ("bot=https://127.0.0.1/", "runs on this machine"),
        ("bot=file:///etc/passwd", "runs on this machine"),
        ("bot=http://127.0.0.1:99999/", "runs on this machine"),
    ],
)
def test_what_is_no_program_of_this_machine_is_refused(given: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ServerSettings.from_environment({}, outside=(given,))


def test_programs_are_defined_by_flags_alone() -> None:
    given = ("one=python -c 'print(1)'", "two=http://localhost:8123/play?a=b", "three=http://[::1]:1/")
    assert ServerSettings.from_environment({}, outside=given).outside == {
        "one": "python -c 'print(1)'",
        "two": "http://localhost:8123/play?a=b",
        "three": "http://[::1]:1/",
    }
    assert ServerSettings.from_environment({"ATTRACT_OUTSIDE": "bot=python"}).outside == {}
    with pytest.raises(ConfigurationError, match="defined twice"):
        ServerSettings.from_environment({}, outside=("a=python", "a=python3"))


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (asked().model_copy(update={"policy_id": "outside:other"}), "outside:other"),
        (asked(seat=2), "the game has 2 agents"),
        (asked(obs=np.zeros((1, 3), np.float32)), "shape"),
        (asked(obs=np.zeros((1, 2), np.int32)), "dtype"),
        (asked(obs=np.zeros((2, 2), np.float32)), "shape"),
        (asked(obs=np.full((1, 2), np.nan, np.float32)), "finite"),
        (asked(eye=np.zeros((1, 2), np.float32)), "keys"),
        (asked(mask=[[1, 1, 1]]), "action_mask"),
    ],
)
async def test_a_question_that_is_not_of_the_game_is_refused(ask: Ask, says: str) -> None:
    table = Table(sys.executable)
    with pytest.raises(ProtocolError, match=says):
        table.players.questions(ask, described())
