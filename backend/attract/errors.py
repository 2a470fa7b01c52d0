"""Every exception of ours; each has fields, and its text is built from them.

    AttractError                    exit code 1
    ├── ConfigurationError          exit code 2: wrong usage, refused at start-up, names valid values
    │   ├── UsageError              the command line cannot be read
    │   ├── NotInstalledError       an extra of the package is needed
    │   ├── FileError               an input file is missing, damaged or a link out of its folder
    │   └── QueryError              a search of the runs cannot be read
    ├── GameError                   a game threw, hung or returned something unusable
    ├── ProtocolError               a peer broke the wire's rules
    ├── PolicyError                 a network or its ONNX graph is invalid
    ├── CheckpointError             a checkpoint is missing, incomplete or not ours
    ├── StoreError                  a segment store cannot be created, or is not one of ours
    ├── RunActiveError              the gateway already has an active run
    ├── UnknownRunError             exit code 2: there is no such run
    ├── DamagedRunError             saved data of a past run cannot be read
    ├── DemonstrationError          a demonstration could not be written
    ├── EpisodeWriteError           the episodes of a run could not be written
    ├── AccessError                 the access database could not be written
    ├── TrialError                  a trial of a study failed
    ├── CutOffError                 a signal ended a command that had nothing to answer yet
    ├── ClusterError                a cluster cannot run the request
    ├── InferenceError              the process of central inference failed
    └── LearnerError                an update or the learner's process failed
        ├── NonFiniteUpdateError    rule P8: the update was undone and its batch dropped
        └── FederationError         another trainer is gone, late or of another kind

A caller's bug in our own code is a `RuntimeError` or `ValueError`, never one of these.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from typing_extensions import override

MAX_NAMES: Final = 12
"""Names that a message lists."""


class AttractError(Exception):
    """Something outside our code is not as it must be; the command line prints it without a traceback."""

    exit_code: int = 1
    advice: ClassVar[str] = (
        "`attract doctor` lists what this machine lacks; `attract report` packs a run's logs"
    )
    """What to do, if the error itself has no `fix`."""

    @property
    def error_code(self) -> str:
        """Stable name of this kind of error, for `--json`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__.removesuffix("Error")).lower()


class ConfigurationError(AttractError):
    """A setting, flag or file is invalid; the text has the given value and a valid one."""

    exit_code = 2
    advice = "give a valid value: the help of the command lists them"

    def __init__(
        self,
        problem: str,
        *,
        setting: str | None = None,
        fix: str | None = None,
        problems: Iterable[tuple[str, str]] = (),
    ) -> None:
        """`problems`: pairs (path of a setting, its problem), if `problem` sums up several."""
        self.problem = problem
        self.setting = setting
        self.fix = fix
        self.problems = tuple(problems)
        text = problem if setting is None else f"{setting}: {problem}"
        super().__init__(text if fix is None else f"{text}\n  {fix}")


class UsageError(ConfigurationError):
    """The command line names no command, or an option that it does not have or that lacks its value."""


class NotInstalledError(ConfigurationError):
    """Packages of an extra are `missing`; `fix` is the command that adds them."""

    def __init__(self, asked_by: str, missing: Sequence[str], fix: str) -> None:
        self.missing = tuple(missing)
        are = "is" if len(missing) == 1 else "are"
        super().__init__(f"{', '.join(missing)} {are} not installed", setting=asked_by, fix=fix)


class FileError(ConfigurationError):
    """A file cannot be read or used; `path` names it."""

    def __init__(self, path: Path, problem: str, *, fix: str | None = None) -> None:
        self.path = path
        super().__init__(problem, setting=str(path), fix=fix)


class QueryError(ConfigurationError):
    """A search of the runs, their order or a page of them cannot be read.

    `at` is the place of the mistake in the search, counted from 0; None: it is not in the search. `meant`:
    the name in place of the one there; `suggestion`: the whole search with it, once that is known.
    """

    suggestion: str | None = None

    def __init__(
        self,
        problem: str,
        at: int | None,
        *,
        setting: str = "query",
        fix: str | None = None,
        meant: str | None = None,
    ) -> None:
        self.at = at
        self.meant = meant
        place = "" if at is None else f"character {at + 1}: "
        super().__init__(f"{place}{problem}", setting=setting, fix=fix)


class GameError(AttractError):
    """A game could not be loaded or played; `stack` is source-mapped, a hang has none.

    A game that cannot be loaded counts as wrong usage (exit code 2), like a misspelled name.
    """

    advice = "mend the game or its adapter at the place that the error names; `attract look` shows the page"

    def __init__(
        self,
        kind: str,
        text: str,
        *,
        name: str = "Error",
        stack: str | None = None,
        slot_id: int | None = None,
        seed: tuple[int, int] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.text = text
        self.stack = stack
        self.slot_id = slot_id
        self.seed = seed
        self.exit_code = 2 if kind == "load" else 1
        where = "" if slot_id is None else f" in slot {slot_id}"
        which = "" if seed is None else f" (seed {seed[0]:08x}{seed[1]:08x}, low word first)"
        trace = f"\n{stack}" if stack else ""
        if kind == "hang" and stack is None:
            trace = "\n  no stack: the game never came back"
        super().__init__(f"the game failed ({kind}){where}{which}: {name}: {text}{trace}")

    @property
    @override
    def error_code(self) -> str:
        return f"game-{self.kind}"


class ProtocolError(AttractError):
    """A peer sent what the protocol does not allow; the socket is closed with `close_code`."""

    def __init__(
        self, reason: str, *, code: str = "malformed", close_code: int = 4005, fix: str = ""
    ) -> None:
        self.reason = reason
        self.code = code
        self.close_code = close_code
        self.fix = fix
        super().__init__(f"{code} ({close_code}): {reason}" + (f"; {fix}" if fix else ""))


class PolicyError(AttractError):
    """A network, its state or its ONNX graph does not fit the game or each other."""

    def __init__(self, problem: str, *, expected: str | None = None, got: str | None = None) -> None:
        self.problem = problem
        self.expected = expected
        self.got = got
        compared = "" if expected is None else f": expected {expected}, got {got}"
        super().__init__(problem + compared)


class CheckpointError(AttractError):
    """A checkpoint cannot be read; `path` names it."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"checkpoint {path}: {problem}")


class CutOffError(AttractError):
    """A signal ended a command before there was anything to answer; `exit_code` is that of the signal."""

    def __init__(self, problem: str, *, fix: str, exit_code: int) -> None:
        self.fix = fix
        self.exit_code = exit_code
        super().__init__(problem)

    @property
    @override
    def error_code(self) -> str:
        return "interrupted"


class ClusterError(AttractError):
    """The cluster cannot run what it was asked for."""


class InferenceError(AttractError):
    """The inference process ended, or sent an invalid message."""


class LearnerError(AttractError):
    """The learner's process or an update failed."""


class NonFiniteUpdateError(LearnerError):
    """Rule P8: a loss, gradient or weight was not finite; weights and optimizer are as they were before."""

    def __init__(self, what: str, *, epoch: int | None = None, minibatch: int | None = None) -> None:
        self.what = what
        self.epoch = epoch
        self.minibatch = minibatch
        where = "" if epoch is None else f" in epoch {epoch}, minibatch {minibatch}"
        super().__init__(f"P8: {what} was not finite{where}; the update was undone and its batch dropped")


class FederationError(LearnerError):
    """Averaging between trainers failed; the text names the trainer and what to do.

    `is_final`: a restarted learner would fail too.
    """

    def __init__(self, problem: str, *, is_final: bool = True) -> None:
        self.problem = problem
        self.is_final = is_final
        super().__init__(problem)


class StoreError(AttractError):
    """A store file cannot be made, or is not one of ours; `path` names it."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"segment store {path}: {problem}")


class DamagedRunError(AttractError):
    """Saved data of a past run cannot be read; its other files, and other runs, are not affected."""

    def __init__(self, run_id: str, reason: str) -> None:
        self.run_id = run_id
        self.reason = reason
        super().__init__(f"run {run_id} is damaged: {reason}")


class RunActiveError(AttractError):
    """A gateway has at most one active run, and none that another process trains."""

    def __init__(
        self,
        run_id: str,
        before: str = "start another",
        *,
        is_elsewhere: bool = False,
        is_starting: bool = False,
    ) -> None:
        """`before`: what needs the run to end first; `is_elsewhere`: another process trains it.

        `is_starting`: it is being started and has no id yet.
        """
        self.run_id = run_id
        text = f"run {run_id} is active; stop it before you {before}"
        if is_elsewhere:
            text = f"another process trains run {run_id}: control it there"
        if is_starting:
            text = f"a run is being started; wait for it and stop it before you {before}"
        super().__init__(text)


class UnknownRunError(AttractError):
    """There is no such run, or it has no such thing."""

    exit_code = 2
    advice = "`attract runs is:all` lists the runs"


class DemonstrationError(AttractError):
    """A demonstration could not be written."""


class EpisodeWriteError(AttractError):
    """The episodes of a run could not be written."""


class AccessError(AttractError):
    """The change is active now, but could not be saved: a restart of the server would undo it."""


def few_names(names: Sequence[str]) -> str:
    """At most `MAX_NAMES` names for a message, and how many more there are."""
    more = [] if len(names) <= MAX_NAMES else [f"and {len(names) - MAX_NAMES} more"]
    return ", ".join([*names[:MAX_NAMES], *more])


def nearest_name(name: str, valid: Iterable[str]) -> str | None:
    """The valid name most like `name`, or None when none is close; for "did you mean" in messages."""
    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return close[0] if close else None


class TrialError(AttractError):
    """A trial of a study failed; `said` is the last output of its run; `refused`: it never began."""

    def __init__(self, run_id: str, said: str, *, refused: bool = False) -> None:
        self.run_id = run_id
        self.said = said
        self.refused = refused
        super().__init__(f"trial {run_id} {'was refused' if refused else 'failed'}:\n{said}")
