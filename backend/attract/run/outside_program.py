"""One program outside of Attract that plays: a process that is asked by lines, or a server by HTTP."""

import asyncio
import contextlib
import itertools
import json
import logging
import os
import shlex
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import httpx

from attract.runs.plain_text import plain
from attract.settings.outside import is_url

MAX_ANSWER_BYTES: Final = 1 << 16
"""A line, or the body of an answer over HTTP."""
MAX_OPEN: Final = 8
"""Questions that a program has at a time; the others wait here."""
START_SECONDS: Final = 20.0
"""Time for the first answer of a process, which may have much to import."""
MAX_MISSES: Final = 3
"""In a row without an answer: then it is started again."""
MAX_BARREN: Final = 3
"""Starts in a row without a single answer, after which it is not asked any more."""
MAX_STARTS: Final = 20
MAX_UNASKED: Final = 100
"""Lines that answer nothing, in a row."""
EXIT_SECONDS: Final = 1.0
STDERR_BYTES: Final = 2_000
SHOWN_CHARACTERS: Final = 200
EXAMPLE: Final = '{"id": 1, "action": 0}'

Numbers = Sequence[float]
"""An action as it travels, one number per component."""
Check = Callable[[object], Numbers]
"""The action that a program said. Raises: ValueError: it is none, saying what would be right."""


class _WrongAnswerError(Exception):
    """What a program said answers no open question; `kind` is told once."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, eq=False)
class _Question:
    number: int
    seat: int
    body: bytes
    check: Check
    answer: asyncio.Future[Numbers | None]


class _Listener(Protocol):
    """What a channel tells of; all on the event loop."""

    def heard(self, channel: "_Channel", data: bytes, number: int | None = None) -> None:
        """An answer; `number`: of its question, where the channel knows."""
        ...

    def failed(self, channel: "_Channel", number: int, text: str) -> None:
        """A question cannot be answered."""
        ...

    def broke(self, channel: "_Channel", text: str) -> None:
        """Nothing more will be answered."""
        ...


class _Channel(Protocol):
    start_seconds: float
    """Time for the first answer, where that is more than for the others."""

    async def open(self) -> None:
        """Raises: OSError: it cannot be."""
        ...

    def send(self, number: int, body: bytes) -> None: ...

    def drop(self, number: int) -> None:
        """The answer is not waited for any more."""
        ...

    async def close(self) -> None: ...


class OutsideProgram:
    """Owned by one run's players, used on its event loop; started when it is first asked.

    Whatever it does, each question is answered or given up within bounded time: a question has its deadline
    once it is the oldest of those that are open.
    """

    def __init__(
        self,
        player: str,
        place: str,
        seconds: float,
        told: Callable[[str], None],
        *,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`place`: its command, or its URL; `told` hears each kind of fault once, in a sentence."""
        self.player = player
        self.decisions = 0
        self.defaults = 0
        """Decisions that it did not make."""
        self._place = place
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._told = told
        self._problems: dict[str, tuple[str, int]] = {}
        """By kind of fault, the first of it and how many there were."""
        self._numbers = itertools.count(1)
        self._waiting: deque[_Question] = deque()
        self._open: dict[int, _Question] = {}
        """What it was sent, the oldest first."""
        self._expired: deque[int] = deque(maxlen=256)
        """Numbers of the last questions that it did not answer in time."""
        self._channel: _Channel | None = None
        self._is_starting = False
        self._has_answered = False
        """Since it was started."""
        self._misses = self._barren = self._starts = self._unasked = 0
        self._is_given_up = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def problems(self) -> list[str]:
        """Each kind of fault, with how often it happened."""
        return [text if count == 1 else f"{text} ({count} times)" for text, count in self._problems.values()]

    async def decide(self, seat: int, question: Mapping[str, Any], check: Check) -> Numbers | None:
        """What the program answers; None: nothing that counts, and the default does.

        Args:
            seat: of the agent; an answer may repeat it.
            question: what is asked, without the number that is added here.
            check: of its answer.
        """
        number = next(self._numbers)
        body = json.dumps({"id": number, "seat": seat, **question}, separators=(",", ":")).encode()
        future: asyncio.Future[Numbers | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Question(number, seat, body, check, future))
        self._pump()
        return await future

    async def close(self) -> None:
        """End it; what is asked from now on has no answer."""
        self._give_up()
        self._part()
        while self._tasks:
            await asyncio.wait(self._tasks)

    # --- what goes out ---

    def _pump(self) -> None:
        if self._is_given_up:
            self._settle_all()
        elif self._waiting and self._channel is None:
            if not self._is_starting:
                self._is_starting = True
                self._spawn(self._start())
        elif self._channel is not None:
            was_idle = not self._open
            while self._waiting and len(self._open) < MAX_OPEN:
                question = self._waiting.popleft()
                self._open[question.number] = question
                self._channel.send(question.number, question.body)
            if was_idle:
                self._arm()

    async def _start(self) -> None:
        self._starts += 1
        channel: _Channel = (
            _HttpChannel(self._place, self)
            if is_url(self._place)
            else _LineChannel(self._place, self, self._start_seconds)
        )
        try:
            await channel.open()
        except OSError as error:
            self._fault("start", f"cannot be started: {error.strerror or error}")
            self._give_up()
            return
        finally:
            self._is_starting = False
        if self._is_given_up:
            await channel.close()
            return
        self._channel, self._has_answered, self._misses, self._unasked = channel, False, 0, 0
        self._pump()

    def _arm(self) -> None:
        """The oldest question has its time from now on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._open:
            self._timer = asyncio.get_running_loop().call_later(self._limit, self._is_late)

    @property
    def _limit(self) -> float:
        if self._has_answered or self._channel is None:
            return self._seconds
        return max(self._seconds, self._channel.start_seconds)

    # --- what comes back ---

    def heard(self, channel: _Channel, data: bytes, number: int | None = None) -> None:
        if channel is not self._channel:
            return
        try:
            answered = self._answered(data, number)
        except _WrongAnswerError as error:
            self._fault(error.kind, str(error))
            question = next(iter(self._open.values()), None) if number is None else self._open.get(number)
            if question is not None:
                self._settle(question, None)
                return
            self._unasked += 1
            if self._unasked >= MAX_UNASKED:
                self.broke(channel, f"wrote {MAX_UNASKED} lines that nobody asked for")
            return
        self._misses = 0
        if answered is not None:
            self._has_answered, self._barren, self._unasked = True, 0, 0
            self._settle(*answered)

    def failed(self, channel: _Channel, number: int, text: str) -> None:
        question = self._open.get(number)
        if channel is not self._channel or question is None:
            return
        self._fault("failed", text)
        self._misses += 1
        self._settle(question, None)
        self._look_at_misses()

    def broke(self, channel: _Channel, text: str) -> None:
        if channel is self._channel:
            self._restart("broke", text)

    def _answered(self, data: bytes, number: int | None) -> tuple[_Question, Numbers] | None:
        """The question and the action that counts; None: it came too late.

        Raises: _WrongAnswerError.
        """
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            text = plain(data.decode(errors="replace").strip(), SHOWN_CHARACTERS)
            raise _WrongAnswerError(
                "json", f"answered `{text}`, which is not JSON; an answer is such as `{EXAMPLE}`"
            ) from None
        known = said.get("id", number) if isinstance(said, dict) else None
        if not isinstance(said, dict) or type(known) is not int or (number is not None and known != number):
            wanted = "the `id` of its question" if number is None else f"the `id` {number}"
            raise _WrongAnswerError("id", f"answered {_shown(said)}; an answer has {wanted}")
        if known in self._expired:
            self._expired.remove(known)
            return None
        question = self._open.get(known)
        if question is None:
            raise _WrongAnswerError("id", f"answered the question {_shown(known)}, which is not open")
        if said.get("seat", question.seat) != question.seat:
            raise _WrongAnswerError(
                "seat",
                f"answered for the seat {_shown(said['seat'])} what the seat {question.seat} was asked",
            )
        if "action" not in said:
            raise _WrongAnswerError("action", f"answered {_shown(said)}, without an `action`")
        try:
            return question, question.check(said["action"])
        except ValueError as error:
            text = f"answered the action {_shown(said['action'])}: {error}"
            raise _WrongAnswerError("action", text) from None

    def _is_late(self) -> None:
        question = next(iter(self._open.values()))
        self._fault("late", f"gave no answer within {self._limit:g} s")
        self._expired.append(question.number)
        self._misses += 1
        has_answered = self._has_answered
        if self._channel is not None:
            self._channel.drop(question.number)
        self._settle(question, None)
        if self._open and not has_answered:
            # It has had the time of a start: the others would have to wait as long.
            self._misses = MAX_MISSES
        self._look_at_misses()

    def _look_at_misses(self) -> None:
        if self._misses >= MAX_MISSES:
            text = (
                f"answered none of {MAX_MISSES} questions in a row"
                if self._has_answered
                else "answers nothing"
            )
            self._restart("hang", text)

    # --- its life ---

    def _restart(self, kind: str, text: str) -> None:
        """End it, with the questions that it has; the next one starts it again, unless that is hopeless."""
        self._fault(kind, text)
        self._part()
        self._barren += 1
        if self._barren >= MAX_BARREN or self._starts >= MAX_STARTS:
            self._fault("given up", "is not asked any more: its seat takes the default action from now on")
            self._give_up()
        for question in list(self._open.values()):
            self._settle(question, None)

    def _part(self) -> None:
        if self._channel is not None:
            self._spawn(self._channel.close())
            self._channel = None

    def _give_up(self) -> None:
        self._is_given_up = True
        self._settle_all()

    def _settle_all(self) -> None:
        while self._waiting:
            self._count(self._waiting.popleft(), None)
        for question in list(self._open.values()):
            self._settle(question, None)

    def _settle(self, question: _Question, action: Numbers | None) -> None:
        is_oldest = next(iter(self._open), None) == question.number
        if self._open.pop(question.number, None) is None:
            return
        self._count(question, action)
        if is_oldest:
            self._arm()
        self._pump()

    def _count(self, question: _Question, action: Numbers | None) -> None:
        self.decisions += 1
        self.defaults += action is None
        if not question.answer.done():
            question.answer.set_result(action)

    def _fault(self, kind: str, text: str) -> None:
        first, count = self._problems.get(kind, ("", 0))
        if not count:
            first = f"{self.player} ({plain(self._place, SHOWN_CHARACTERS)}) {text}"
            self._told(first)
        self._problems[kind] = (first, count + 1)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _LineChannel:
    """A process: a line of JSON in, a line of JSON out; a session of its own, so that Ctrl-C is not its."""

    def __init__(self, command: str, listener: _Listener, start_seconds: float) -> None:
        self.start_seconds = start_seconds
        self._command = shlex.split(command)
        self._listener = listener
        self._process: asyncio.subprocess.Process | None = None
        self._stderr = b""
        self._reading: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=MAX_ANSWER_BYTES,
            start_new_session=True,
        )
        self._reading = [asyncio.create_task(self._read()), asyncio.create_task(self._read_stderr())]

    def send(self, number: int, body: bytes) -> None:
        stdin = None if self._process is None else self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(body + b"\n")

    def drop(self, number: int) -> None:
        pass

    async def close(self) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # With what it has started itself.
            os.killpg(process.pid, signal.SIGKILL)
        for task in self._reading:
            task.cancel()
        await process.wait()
        # Who left its session may hold the pipes.
        process._transport.close()  # type: ignore[attr-defined]

    async def _read(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        try:
            while line := await process.stdout.readline():
                self._listener.heard(self, line)
                # A line that is there already is read without a turn of the event loop.
                await asyncio.sleep(0)
        except ValueError:
            self._listener.broke(self, f"wrote a line of more than {MAX_ANSWER_BYTES:,} bytes")
            return
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                code = await process.wait()
                await self._reading[1]
        except TimeoutError:
            self._listener.broke(self, "closed its stdout")
            return
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        last = self._stderr.decode(errors="replace").strip().rpartition("\n")[2]
        self._listener.broke(self, f"{how}: {plain(last, SHOWN_CHARACTERS)}" if last else how)

    async def _read_stderr(self) -> None:
        stderr = None if self._process is None else self._process.stderr
        while stderr is not None and (piece := await stderr.read(MAX_ANSWER_BYTES)):
            self._stderr = (self._stderr + piece)[-STDERR_BYTES:]


class _HttpChannel:
    """A server of this machine: a question is the body of a POST, and the answer that of its answer."""

    start_seconds = 0.0

    def __init__(self, url: str, listener: _Listener) -> None:
        # httpx logs each request.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._url = url
        self._listener = listener
        # A server of one thread would serve its oldest connection for as long as that is kept.
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "connection": "close",
        }
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=None,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )
        self._posts: dict[int, asyncio.Task[None]] = {}

    async def open(self) -> None:
        pass

    def send(self, number: int, body: bytes) -> None:
        task = self._posts[number] = asyncio.create_task(self._post(number, body))
        task.add_done_callback(lambda _: self._posts.pop(number, None))

    def drop(self, number: int) -> None:
        task = self._posts.get(number)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        posts = list(self._posts.values())
        for task in posts:
            task.cancel()
        if posts:
            await asyncio.wait(posts)
        await self._client.aclose()

    async def _post(self, number: int, body: bytes) -> None:
        try:
            async with self._client.stream("POST", self._url, content=body) as answer:
                if answer.status_code != HTTPStatus.OK:
                    what = "redirects elsewhere" if answer.is_redirect else "answers"
                    also = ", which is not followed" if answer.is_redirect else ""
                    self._listener.failed(self, number, f"{what} (HTTP {answer.status_code}){also}")
                    return
                data = b""
                async for piece in answer.aiter_raw():
                    data += piece
                    if len(data) > MAX_ANSWER_BYTES:
                        text = f"answers more than {MAX_ANSWER_BYTES:,} bytes"
                        self._listener.failed(self, number, text)
                        return
        except httpx.ConnectError:
            self._listener.failed(self, number, "refuses the connection")
        except httpx.HTTPError as error:
            text = plain(str(error), SHOWN_CHARACTERS) or type(error).__name__
            self._listener.failed(self, number, f"does not answer as HTTP wants it: {text}")
        else:
            self._listener.heard(self, data, number)


def _shown(said: object) -> str:
    """What a program said, short and in one line."""
    return plain(repr(said), SHOWN_CHARACTERS)
