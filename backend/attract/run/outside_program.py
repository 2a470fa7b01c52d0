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
from typing import Any, Final, cast

import httpx

from attract.runs.plain_text import plain
from attract.settings.outside import is_url

MAX_ANSWER_BYTES: Final = 1 << 16
"""A line, or the body of an answer over HTTP."""
MAX_OPEN: Final = 8
"""Questions that a program has at a time; the others wait here."""
START_SECONDS: Final = 20.0
"""Time for its first answer: it may have much to import."""
MAX_MISSES: Final = 3
"""In a row without an answer: then it is started again."""
MAX_BARREN: Final = 3
"""Starts in a row without a single answer, after which it is not asked any more."""
MAX_STARTS: Final = 20
MAX_UNASKED: Final = 100
"""Lines in a row that answer nothing."""
EXIT_SECONDS: Final = 1.0
STDERR_BYTES: Final = 2_000
SHOWN_CHARACTERS: Final = 200

Numbers = Sequence[float]
"""An action as it travels, one number per component."""
Check = Callable[[object], Numbers]
"""The action that a program said. Raises: ValueError: it is none, saying what would be right."""


class _WrongAnswerError(Exception):
    """What a program said answers no open question: its kind of fault, and what was wrong."""


@dataclass(frozen=True, eq=False)
class _Question:
    number: int
    seat: int
    body: bytes
    check: Check
    answer: asyncio.Future[Numbers | None]


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
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`place`: its command, or its URL; `told` hears each kind of fault once, in a sentence."""
        self.decisions = 0
        self.defaults = 0
        """Decisions that it did not make."""
        self._name = f"{player} ({plain(place, SHOWN_CHARACTERS)})"
        self._place = place
        self._seconds = seconds
        self._start_seconds = max(seconds, start_seconds)
        self._told = told
        self._problems: dict[str, tuple[str, int]] = {}
        """By kind of fault, the first of it and how many there were."""
        self._numbers = itertools.count(1)
        self._waiting: deque[_Question] = deque()
        self._open: dict[int, _Question] = {}
        """What it was sent, the oldest first."""
        self._expired: deque[int] = deque(maxlen=256)
        """Numbers of the last questions that it did not answer in time."""
        self._channel: _LineChannel | _HttpChannel | None = None
        self._is_starting = self._is_given_up = False
        self._has_answered = False
        """Since it was started."""
        self._misses = self._barren = self._starts = self._unasked = 0
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
            question: what is asked, without number and seat.
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
        self._part()
        self._give_up()
        while self._tasks:
            await asyncio.wait(self._tasks)

    # --- what goes out ---

    def _pump(self) -> None:
        if self._is_given_up:
            if self._waiting:
                self._give_up()
        elif self._channel is not None:
            was_idle = not self._open
            while self._waiting and len(self._open) < MAX_OPEN:
                question = self._waiting.popleft()
                self._open[question.number] = question
                self._channel.send(question.number, question.body)
            if was_idle:
                self._arm()
        elif self._waiting and not self._is_starting:
            self._is_starting = True
            self._spawn(self._start())

    async def _start(self) -> None:
        self._starts += 1
        channel = _HttpChannel(self._place, self) if is_url(self._place) else _LineChannel(self._place, self)
        try:
            await channel.open()
        except OSError as error:
            self.fault("start", f"cannot be started: {error.strerror or error}")
            self._give_up()
            return
        finally:
            self._is_starting = False
        self._channel, self._has_answered, self._misses, self._unasked = channel, False, 0, 0
        if self._is_given_up:
            self._part()
        self._pump()

    def _arm(self) -> None:
        """The oldest question has its time from now on."""
        if self._timer is not None:
            self._timer.cancel()
        limit = self._seconds if self._has_answered else self._start_seconds
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(limit, self._is_late, limit) if self._open else None

    def _is_late(self, limit: float) -> None:
        number, question = next(iter(self._open.items()))
        self.fault("late", f"gave no answer within {limit:g} s")
        self._expired.append(number)
        if self._channel is not None:
            self._channel.drop(number)
        # After the time of a start the others would have to wait as long.
        self._misses += 1 if self._has_answered else MAX_MISSES
        self._settle(question, None)
        self._look_at_misses()

    # --- what comes back, from a channel ---

    def heard(self, channel: object, data: bytes, number: int | None = None) -> None:
        """An answer; `number`: of its question, where the channel knows."""
        if channel is not self._channel:
            return
        try:
            answered = self._answered(data, number)
        except _WrongAnswerError as error:
            self.fault(*error.args)
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

    def failed(self, channel: object, number: int, text: str) -> None:
        """A question cannot be answered."""
        question = self._open.get(number)
        if channel is self._channel and question is not None:
            self.fault("failed", text)
            self._misses += 1
            self._settle(question, None)
            self._look_at_misses()

    def broke(self, channel: object, text: str) -> None:
        """Nothing more will be answered."""
        if channel is self._channel:
            self._restart("broke", text)

    def _answered(self, data: bytes, number: int | None) -> tuple[_Question, Numbers] | None:
        """The question and the action that counts; None: it came too late. Raises: _WrongAnswerError."""
        try:
            said: Any = json.loads(data)
        except (ValueError, RecursionError):
            text = plain(data.decode(errors="replace").strip(), SHOWN_CHARACTERS)
            raise _WrongAnswerError("json", f"answered `{text}`, which is not JSON") from None
        known = cast("dict[str, Any]", said).get("id", number) if isinstance(said, dict) else None
        if type(known) is not int or number not in (None, known):
            wanted = "the `id` of its question" if number is None else f"the `id` {number}"
            raise _WrongAnswerError("id", f"answered {_shown(said)}; an answer has {wanted}")
        if known in self._expired:
            self._expired.remove(known)
            return None
        question = self._open.get(known)
        if question is None:
            raise _WrongAnswerError("id", f"answered the question {_shown(known)}, which is not open")
        if (seat := said.get("seat", question.seat)) != question.seat:
            text = f"answered for the seat {_shown(seat)} what the seat {question.seat} was asked"
            raise _WrongAnswerError("seat", text)
        if "action" not in said:
            raise _WrongAnswerError("action", f"answered {_shown(said)}, without an `action`")
        try:
            return question, question.check(said["action"])
        except ValueError as error:
            text = f"answered the action {_shown(said['action'])}: {error}"
            raise _WrongAnswerError("action", text) from None

    # --- its life ---

    def _look_at_misses(self) -> None:
        if self._misses >= MAX_MISSES and self._channel is not None:
            many = f"none of {MAX_MISSES} questions in a row"
            self._restart("hang", f"answered {many}" if self._has_answered else "answers nothing")

    def _restart(self, kind: str, text: str) -> None:
        """End it, with the questions that it has; the next one starts it again, unless that is hopeless."""
        self.fault(kind, text)
        self._part()
        self._barren += 1
        if self._barren >= MAX_BARREN or self._starts >= MAX_STARTS:
            self.fault("given up", "is not asked any more: its seat takes the default action from now on")
            self._give_up()
        for question in list(self._open.values()):
            self._settle(question, None)

    def _part(self) -> None:
        if self._channel is not None:
            self._spawn(self._channel.close())
            self._channel = None

    def _give_up(self) -> None:
        self._is_given_up = True
        self._open |= {question.number: question for question in self._waiting}
        self._waiting.clear()
        for question in list(self._open.values()):
            self._settle(question, None)

    def _settle(self, question: _Question, action: Numbers | None) -> None:
        is_oldest = next(iter(self._open), None) == question.number
        if self._open.pop(question.number, None) is None:
            return
        self.decisions += 1
        self.defaults += action is None
        if not question.answer.done():
            question.answer.set_result(action)
        if is_oldest:
            self._arm()
        self._pump()

    def fault(self, kind: str, text: str) -> None:
        """Something was wrong with it."""
        first, count = self._problems.get(kind, (f"{self._name} {text}", 0))
        self._problems[kind] = (first, count + 1)
        if not count:
            self._told(first)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _LineChannel:
    """A process: a line of JSON in, a line of JSON out; Ctrl-C does not reach its session."""

    def __init__(self, command: str, program: OutsideProgram) -> None:
        self._command = shlex.split(command)
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._stderr = b""
        self._reading: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Raises: OSError: it cannot be started."""
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=MAX_ANSWER_BYTES,
            start_new_session=True,
        )
        listening = asyncio.create_task(self._read_stderr(process))
        self._reading = [listening, asyncio.create_task(self._read(process, listening))]

    def send(self, number: int, body: bytes) -> None:
        stdin = None if self._process is None else self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(body + b"\n")

    def drop(self, number: int) -> None:
        """It may still answer."""

    async def close(self) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # With what it has started itself.
            os.killpg(process.pid, signal.SIGKILL)
        for task in self._reading:
            task.cancel()
        # First: who left its session may hold the pipes, and some Pythons wait for the end of those.
        cast("Any", process)._transport.close()
        await process.wait()

    async def _read(self, process: asyncio.subprocess.Process, listening: asyncio.Task[None]) -> None:
        try:
            while process.stdout is not None and (line := await process.stdout.readline()):
                self._program.heard(self, line)
                # A line that is there already is read without a turn of the event loop.
                await asyncio.sleep(0)
        except ValueError:
            self._program.broke(self, f"wrote a line of more than {MAX_ANSWER_BYTES:,} bytes")
            return
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                code = await process.wait()
                await listening
        except TimeoutError:
            self._program.broke(self, "closed its stdout")
            return
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        last = self._stderr.decode(errors="replace").strip().rpartition("\n")[2]
        self._program.broke(self, f"{how}: {plain(last, SHOWN_CHARACTERS)}" if last else how)

    async def _read_stderr(self, process: asyncio.subprocess.Process) -> None:
        while process.stderr is not None and (piece := await process.stderr.read(MAX_ANSWER_BYTES)):
            self._stderr = (self._stderr + piece)[-STDERR_BYTES:]


class _HttpChannel:
    """A server of this machine: a question is the body of a POST, and the answer that of its answer."""

    def __init__(self, url: str, program: OutsideProgram) -> None:
        # httpx logs each request.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._url = url
        self._program = program
        # A server of one thread would serve its oldest connection for as long as that is kept.
        headers = {"content-type": "application/json", "accept-encoding": "identity", "connection": "close"}
        limits = httpx.Limits(max_keepalive_connections=0)
        # No proxy, no redirect; each question has its own deadline.
        self._client = httpx.AsyncClient(headers=headers, timeout=None, trust_env=False, limits=limits)
        self._posts: dict[int, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Nothing is asked yet."""

    def send(self, number: int, body: bytes) -> None:
        task = self._posts[number] = asyncio.create_task(self._post(number, body))
        task.add_done_callback(lambda _: self._posts.pop(number, None))

    def drop(self, number: int) -> None:
        """Its answer is not waited for any more."""
        if number in self._posts:
            self._posts[number].cancel()

    async def close(self) -> None:
        posts = list(self._posts.values())
        for task in posts:
            task.cancel()
        await asyncio.gather(*posts, return_exceptions=True)
        await self._client.aclose()

    async def _post(self, number: int, body: bytes) -> None:
        problem, data = None, b""
        try:
            async with self._client.stream("POST", self._url, content=body) as answer:
                if answer.is_redirect:
                    problem = f"redirects elsewhere (HTTP {answer.status_code}), which is not followed"
                elif answer.status_code != HTTPStatus.OK:
                    problem = f"answers (HTTP {answer.status_code})"
                else:
                    async for piece in answer.aiter_raw():
                        data += piece
                        if len(data) > MAX_ANSWER_BYTES:
                            problem = f"answers more than {MAX_ANSWER_BYTES:,} bytes"
                            break
        except httpx.ConnectError:
            problem = "refuses the connection"
        except httpx.HTTPError as error:
            text = plain(str(error), SHOWN_CHARACTERS) or type(error).__name__
            problem = f"does not answer as HTTP wants it: {text}"
        if problem is None:
            self._program.heard(self, data, number)
        else:
            self._program.failed(self, number, problem)


def _shown(said: object) -> str:
    """What a program said, short and in one line."""
    return plain(repr(said), SHOWN_CHARACTERS)
