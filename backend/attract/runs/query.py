"""The search language of runs: `game:snake return>20 lr<0.001 tag:good -is:starred`."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from attract.errors import QueryError
from attract.runs.archive import UNFINISHED
from attract.runs.indexed_run import DEFAULTS, IndexedRun, setting_value
from attract.schema.run_list import SettingValue
from attract.settings.run import ALGORITHM_SETTINGS

MAX_QUERY: Final = 1_000
"""Characters of a search."""

Field = Callable[[IndexedRun], Any]
Match = Callable[[IndexedRun], bool]

TEXTS: Final[Mapping[str, Field]] = {
    "id": lambda run: run.summary.run_id,
    "name": lambda run: run.labels.name,
    "note": lambda run: run.labels.note,
    "game": lambda run: f"{run.summary.game} {run.summary.title}",
    "preset": lambda run: run.preset or "none",
    "created": lambda run: run.summary.created,
}
"""Texts, searched in without regard to case."""
WORDS: Final[Mapping[str, Field]] = {
    "state": lambda run: [run.summary.state],
    "tag": lambda run: run.labels.tags,
}
"""Whole words, one of which must be the one searched for, or one of several with commas between."""
NUMBERS: Final[Mapping[str, Field]] = {
    "return": lambda run: run.summary.episode_return_mean,
    "best": lambda run: run.return_best,
    "eval": lambda run: run.return_eval,
    "progress": lambda run: run.progress,
    "steps": lambda run: run.summary.agent_steps,
    "updates": lambda run: run.summary.updates,
    "episodes": lambda run: run.summary.episodes,
    "seconds": lambda run: run.summary.elapsed_seconds,
    "speed": lambda run: run.speed,
    "version": lambda run: run.summary.policy_version,
    "seed": lambda run: run.summary.seed,
    "goal": lambda run: run.summary.goal,
}
FLAGS: Final[Mapping[str, Match]] = {
    "starred": lambda run: run.labels.starred,
    "archived": lambda run: run.labels.archived,
    "live": lambda run: run.summary.state in UNFINISHED,
    "empty": lambda run: is_empty(run),
    "all": lambda run: True,
    "deleted": lambda run: run.is_deleted,
}
"""What `is:` asks for. The last four also show the runs that are hidden otherwise."""
SHOWS_HIDDEN: Final = {
    "archived": ("archived",),
    "empty": ("empty",),
    "all": ("archived", "empty"),
    "deleted": ("archived", "empty", "deleted"),
}

_SPACE = re.compile(r"\s+")
_KEY = re.compile(r"([A-Za-z_][\w./-]*)(:|\s*(?:!=|>=|<=|>|<|=)\s*)")
_VALUE = re.compile(r'"([^"]*)"|([^\s"]+)')
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([kKMB]?)")
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ":": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


@dataclass(frozen=True)
class Query:
    """A search that was read."""

    terms: Sequence[Match]
    """All of them must hold."""
    shows: frozenset[str]
    """Hidden runs that it asks for: `archived`, `empty`, `deleted`."""

    def matches(self, run: IndexedRun) -> bool:
        """Whether a run is what is searched for, hidden or not."""
        return all(term(run) for term in self.terms)

    def hides(self, run: IndexedRun) -> bool:
        """Whether a run that matches is left out; a run that failed is not."""
        is_left = is_empty(run) and run.summary.state != "failed"
        return (run.labels.archived and "archived" not in self.shows) or (
            is_left and "empty" not in self.shows
        )


def is_empty(run: IndexedRun) -> bool:
    """Whether a run ended without an update; a damaged one may have had some."""
    return run.summary.updates == 0 and run.summary.state not in (*UNFINISHED, "damaged")


def parse_query(text: str) -> Query:
    """The search in `text`: terms with spaces between, all of which must hold; a `-` before one negates it.

    A term is a word or `"several words"`, in name, note, tags, game or id; or a field, metric or setting,
    `:`, `=`, `!=`, `>`, `>=`, `<` or `<=`, and a value. `500k` and `2M` are numbers.
    `tag:a,b`, `state:a,b` and `id=a,b` find either.

    Raises: QueryError: naming what cannot be read, and where.
    """
    if len(text) > MAX_QUERY:
        raise QueryError(f"a search has at most {MAX_QUERY} characters", MAX_QUERY)
    terms: list[Match] = []
    shows: set[str] = set()
    at = 0
    while at < len(text):
        if (space := _SPACE.match(text, at)) is not None:
            at = space.end()
            continue
        is_negated = text[at] == "-" and at + 1 < len(text) and not text[at + 1].isspace()
        start = at = at + is_negated
        key = _KEY.match(text, at)
        at = at if key is None else key.end()
        value, at = _value(text, at, start)
        if key is None:
            term = _word(value)
        else:
            name, operator = key[1], key[2].strip()
            try:
                term = _term(name, operator, value, start, key.end())
            except QueryError as error:
                if error.meant is not None:
                    error.suggestion = text[: key.start()] + error.meant + text[key.end(1) :]
                raise
            if name == "is" and not is_negated:
                shows.update(SHOWS_HIDDEN.get(value, ()))
            elif name == "state" and not is_negated:
                shows.add("empty")
        terms.append(_negated(term) if is_negated else term)
    return Query(terms, frozenset(shows))


def setting_path(name: str) -> str | None:
    """The setting that a short name means: a whole path, the end of one, or its initials, as `lr`.

    A name that several settings have means that of the algorithm; where several algorithms have it, that of
    the first is the path, and each run has that of its own (`_reader`).

    Raises: KeyError: with the paths of several that it could mean.
    """
    wanted = name.replace("-", "_").casefold()
    if wanted in DEFAULTS:
        return wanted
    if not wanted:
        return None
    fitting: tuple[Callable[[str], bool], ...] = (
        lambda last: last == wanted,
        lambda last: last == f"num_{wanted}",
        lambda last: _initials(last) == wanted,
        lambda last: last.startswith(wanted),
    )
    for fits in fitting:
        found = [path for path in DEFAULTS if fits(path.rpartition(".")[2])]
        own = [path for path in found if path.partition(".")[0] in ALGORITHM_SETTINGS]
        found = own or found
        if own and len({path.rpartition(".")[2] for path in own}) == 1:
            return own[0]
        if len(found) > 1:
            raise KeyError(*found)
        if found:
            return found[0]
    return None


def sort_key(name: str) -> Callable[[IndexedRun], Any]:
    """What runs are sorted by: a field of the search, a metric or a setting; None where a run has none.

    Raises: QueryError: there is no such field or setting, or there are several.
    """
    field = NUMBERS.get(name) or TEXTS.get(name) or WORDS.get(name)
    if name == "starred":
        return lambda run: run.labels.starred
    if field is not None:
        return field
    return _metric(name) or _reader(name, _path(name, None, setting="sort"))


def parse_number(text: str) -> float | None:
    """`0.001`, `2e5`, `500k`, `2M`; None: it is no number."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else float(found[1]) * _FACTORS[found[2]]


def _initials(name: str) -> str | None:
    words = name.split("_")
    return "".join(word[:1] for word in words) if len(words) > 1 else None


def _value(text: str, at: int, start: int) -> tuple[str, int]:
    found = _VALUE.match(text, at)
    if found is None:
        if text[at : at + 1] == '"':
            raise QueryError('the quote is not closed: add a "', at)
        raise QueryError(f"{text[start:at].strip()!r} has no value", at, fix="write it without a space")
    if not (found.end() == len(text) or text[found.end()].isspace()):
        raise QueryError("a space is missing beside the quote", found.end())
    return (found[2] if found[1] is None else found[1]), found.end()


def _negated(term: Match) -> Match:
    return lambda run: not term(run)


def _word(value: str) -> Match:
    wanted = value.casefold()

    def matches(run: IndexedRun) -> bool:
        labels, summary = run.labels, run.summary
        texts = (labels.name, labels.note, *labels.tags, summary.game, summary.title, summary.run_id)
        return any(wanted in text.casefold() for text in texts)

    return matches


def _term(name: str, operator: str, value: str, at: int, value_at: int) -> Match:
    if name == "is":
        return _flag(operator, value, at, value_at)
    if name in NUMBERS:
        return _number_term(NUMBERS[name], operator, value, value_at)
    if (metric := _metric(name)) is not None:
        return _number_term(metric, operator, value, value_at)
    if name in TEXTS:
        return _text_term(name, operator, value, at)
    if name in WORDS:
        if operator not in (":", "=", "!="):
            raise QueryError(f"{name} is no number", at, fix=f"write {name}:{value}")
        field, wanted = WORDS[name], set(value.casefold().split(","))
        return lambda run: bool(wanted & {word.casefold() for word in field(run)}) != (operator == "!=")
    return _setting_term(_reader(name, _path(name, at)), operator, value, value_at)


def _metric(name: str) -> Field | None:
    """The last value of a metric, such as `train/loss`: a slash tells its name from those of settings."""
    return (lambda run: run.metrics.get(name)) if "/" in name else None


def _flag(operator: str, value: str, at: int, value_at: int) -> Match:
    if operator != ":":
        raise QueryError("`is` takes a colon", at, fix=f"write is:{value}")
    if value not in FLAGS:
        raise QueryError(f"is:{value} means nothing", value_at, fix=f"one of {', '.join(FLAGS)}")
    return FLAGS[value]


def _number_term(field: Field, operator: str, value: str, at: int) -> Match:
    if value == "none" and operator in (":", "=", "!="):
        return lambda run: (field(run) is None) != (operator == "!=")
    wanted = parse_number(value)
    if wanted is None:
        raise QueryError(f"{value!r} is no number", at, fix="such as 20, 0.001, 1e-4, 500k or 2M")
    compare = _COMPARE[operator]

    def matches(run: IndexedRun) -> bool:
        found = field(run)
        return operator == "!=" if found is None else compare(found, wanted)

    return matches


def _text_term(name: str, operator: str, value: str, at: int) -> Match:
    field, wanted = TEXTS[name], value.casefold()
    if operator == ":":
        return lambda run: wanted in field(run).casefold()
    if operator in ("=", "!="):
        if name == "game":
            return lambda run: (
                (wanted in (run.summary.game.casefold(), run.summary.title.casefold())) != (operator == "!=")
            )
        several = wanted.split(",") if name == "id" else [wanted]
        return lambda run: (field(run).casefold() in several) != (operator == "!=")
    if name != "created":
        raise QueryError(f"{name} is no number", at, fix=f"write {name}:{value}")
    # Times of ISO 8601 in UTC sort as texts do.
    compare = cast("Callable[[str, str], bool]", _COMPARE[operator])
    return lambda run: compare(field(run)[: len(value)].casefold(), wanted)


def _reader(name: str, path: str) -> Callable[[IndexedRun], SettingValue]:
    """The value of a setting: for a short name, in the section of a run's own algorithm where it is there."""
    section, _, last = path.partition(".")
    if section not in ALGORITHM_SETTINGS or "." in name:
        return lambda run: setting_value(run, path)

    def read(run: IndexedRun) -> SettingValue:
        own = f"{setting_value(run, 'algorithm')}.{last}"
        return setting_value(run, own if own in DEFAULTS else path)

    return read


def _setting_term(read: Callable[[IndexedRun], SettingValue], operator: str, value: str, at: int) -> Match:
    number, text, compare = parse_number(value), value.casefold(), _COMPARE[operator]
    if number is None and operator in (">", ">=", "<", "<="):
        raise QueryError(f"{value!r} is no number", at, fix="such as 20, 0.001, 1e-4, 500k or 2M")

    def matches(run: IndexedRun) -> bool:
        found = read(run)
        if number is not None and isinstance(found, int | float) and not isinstance(found, bool):
            return compare(found, number)
        if operator in (">", ">=", "<", "<="):
            return False
        return (setting_text(found).casefold() == text) != (operator == "!=")

    return matches


def setting_text(value: SettingValue) -> str:
    """A setting as a search has it: `true`, `none`, `64,64`."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(name: str, at: int | None, *, setting: str = "query") -> str:
    """The setting of a short name. Raises: QueryError: naming `setting`, where the name stands at `at`."""
    try:
        path = setting_path(name)
    except KeyError as error:
        raise QueryError(
            f"{name} could be several settings",
            at,
            setting=setting,
            fix=f"one of {', '.join(error.args[:8])}",
        ) from None
    if path is not None:
        return path
    known = ("is", *TEXTS, *WORDS, *NUMBERS, *DEFAULTS, *(path.rpartition(".")[2] for path in DEFAULTS))
    close = difflib.get_close_matches(name, known, 1, 0.7)
    as_text = 'put it in "quotes" to search for it as text' if setting == "query" else None
    fix = f"did you mean {close[0]}?" if close else as_text
    raise QueryError(
        f"there is no field or setting {name[:80]!r}",
        at,
        setting=setting,
        fix=fix,
        meant=close[0] if close else None,
    )
