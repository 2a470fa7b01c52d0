"""Games with planted faults (`corpus/*.toml`): what `attract ci` says of them and of sound builds.

`make corpus` plays a baseline of each game, then each fault, changes that harm nothing, and the clean build
with other seeds. The results are kept in `.make/corpus/record/`: a second run goes on from there.
`--only GAME[:NAME]` plays a part, `--again` plays it anew, `--table` writes the kept results into
docs/notebook/ci.md.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from attract.games.project import PACKAGE_DIR
from attract.playtest.report import ORACLES
from attract_command import AttractCommand, Outcome, run_attract

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
WORK = ROOT / ".make" / "corpus"
GUIDE = ROOT / "docs" / "notebook" / "ci.md"
BEGIN, END = "<!-- corpus -->", "<!-- /corpus -->"
SECONDS = 120
"""A command may take so long for one fault."""
PLAY_SECONDS = 100
"""It is told to play so long: it also bundles, and starts a browser."""
GRACE_SECONDS = 120
"""What a command may take beyond `--seconds`: to bundle, to start a browser, to replay what it found."""
CLEAN_SEEDS = range(1, 21)
HARMLESS_SEEDS = range(2)
"""Seeds of the episodes; 0: those of the baseline."""
NUM_FAULTS = 10
"""Faults of a game; it has two changes that harm nothing, too."""


@dataclass(frozen=True)
class Change:
    """One change of a game's sources: `edits` are texts that occur exactly once, with what replaces them."""

    name: str
    says: str
    file: str
    edits: tuple[tuple[str, str], ...]
    oracles: tuple[str, ...] = ()
    """Any of these is right; none: the change harms nothing."""

    def problems(self, folder: Path) -> list[str]:
        """Why it cannot be made in the sources in `folder`, or does nothing there."""
        path = folder / self.file
        if not path.is_file():
            return [f"{self.name}: there is no {self.file}"]
        text = path.read_text()
        problems = [
            f"{self.name}: {find.strip()[:50]!r} is in {self.file} {text.count(find)} times, must be once"
            for find, _ in self.edits
            if text.count(find) != 1
        ]
        if not problems and self.applied(text) == text:
            problems.append(f"{self.name}: changes nothing")
        unknown = set(self.oracles).difference(ORACLES)
        return [*problems, *(f"{self.name}: there is no oracle {oracle!r}" for oracle in sorted(unknown))]

    def applied(self, text: str) -> str:
        """The changed text of the file."""
        for find, replace in self.edits:
            text = text.replace(find, replace)
        return text


@dataclass(frozen=True)
class CorpusGame:
    """A game, its faults, and its changes that harm nothing."""

    name: str
    folder: Path
    engine: str
    faults: tuple[Change, ...]
    harmless: tuple[Change, ...]
    train: tuple[str, ...] = ()
    """Flags of `attract train` for a policy; without, the one in `trained/` is used."""

    @property
    def entry(self) -> str:
        """What the command is given, within the game's folder."""
        return next(name for name in ("game.ts", "game.page.ts") if (self.folder / name).is_file())

    @property
    def changes(self) -> tuple[Change, ...]:
        """All of them."""
        return (*self.faults, *self.harmless)

    def build(self, to: Path, change: Change | None = None) -> Path:
        """Writes the game, changed or as it is, into the folder `to`; returns what the command is given.

        Raises: ValueError: the change does not fit the sources.
        """
        problems = change.problems(self.folder) if change else []
        if problems:
            raise ValueError("; ".join(problems))
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder, to, ignore=shutil.ignore_patterns("trained", "README.md", "card.json"))
        if change:
            path = to / change.file
            path.write_text(change.applied(path.read_text()))
        modules = to.parent / "node_modules"
        if not modules.exists():
            modules.symlink_to(ROOT / "node_modules")
        if (to / "src").is_dir():
            bundle_page(to)
        return to / self.entry


def bundle_page(folder: Path) -> None:
    """Makes `main.js` of `src/main.js`, as the build does, and removes the sources."""
    esbuild = PACKAGE_DIR / "web" / "bin" / "esbuild"
    options = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=error")
    command = [esbuild, "src/main.js", "--outfile=main.js", *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    shutil.rmtree(folder / "src")


def load(folder: Path = CORPUS) -> list[CorpusGame]:
    """The games of `*.toml` in `folder`, by name; their sources lie below the repository's root."""
    games: list[CorpusGame] = []
    for path in sorted(folder.glob("*.toml")):
        given = tomllib.loads(path.read_text())
        faults, harmless = (
            tuple(_change(entry, given["file"]) for entry in given.get(kind, ()))
            for kind in ("fault", "harmless")
        )
        train = tuple(given.get("train", ()))
        games.append(CorpusGame(path.stem, ROOT / given["folder"], given["engine"], faults, harmless, train))
    return games


def _change(entry: dict[str, Any], file: str) -> Change:
    edits = tuple((find, replace) for find, replace in entry["edits"])
    oracles = tuple(entry.get("oracles", ()))
    return Change(entry["name"], entry["says"], entry.get("file", file), edits, oracles)


@dataclass(frozen=True)
class Case:
    """One run of the command: the clean build or a change of it, and a seed."""

    game: CorpusGame
    change: Change | None
    seed: int

    @property
    def kind(self) -> str:
        """`fault`, `harmless` or `clean`."""
        if self.change is None:
            return "clean"
        return "fault" if self.change.oracles else "harmless"

    @property
    def oracles(self) -> tuple[str, ...]:
        """Those that are right."""
        return self.change.oracles if self.change else ()

    @property
    def key(self) -> str:
        """Names it in the record: `snake:throw:0`."""
        return f"{self.game.name}:{self.change.name if self.change else 'clean'}:{self.seed}"


def cases_of(game: CorpusGame) -> Iterator[Case]:
    """All of a game: faults, then harmless changes, then the clean build."""
    yield from (Case(game, fault, 0) for fault in game.faults)
    yield from (Case(game, change, seed) for change in game.harmless for seed in HARMLESS_SEEDS)
    yield from (Case(game, None, seed) for seed in CLEAN_SEEDS)


@dataclass(frozen=True)
class Played:
    """What came of one case."""

    key: str
    kind: str
    expected: tuple[str, ...]
    code: int
    """Exit code: 0 plays, 1 findings, 2 not played."""
    seconds: float
    """The whole command took so long."""
    episodes: int
    findings: dict[str, str] = field(default_factory=dict[str, str])
    """Sentence by id, of what is new."""
    known: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """By oracle, why it was not judged, or what it could not see."""
    problem: str = ""

    @property
    def found_by(self) -> list[str]:
        """Ids of findings by an oracle that is right."""
        return [name for name in self.findings if name.split(":")[0] in self.expected]

    @property
    def is_right(self) -> bool:
        """A fault was found in time; anything else was left in peace."""
        if self.kind == "fault":
            return bool(self.found_by) and self.seconds <= SECONDS
        return self.code == 0


class Record:
    """What was played, kept in a file for each game, so that games may be played side by side."""

    def __init__(self, folder: Path, games: Sequence[CorpusGame]) -> None:
        """What is right for a fault is what `games` say now."""
        self._folder = folder
        kept = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        found = {key: entry for game in kept for key, entry in game.items()}
        self.played = {
            case.key: Played(**{**found[case.key], "expected": case.oracles})
            for game in games
            for case in cases_of(game)
            if case.key in found
        }

    def add(self, played: Played) -> None:
        """Keeps one, at once."""
        self.played[played.key] = played
        game = played.key.split(":")[0]
        mine = {key: asdict(each) for key, each in self.played.items() if key.split(":")[0] == game}
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{game}.json").write_text(json.dumps(mine, indent=1))


class Harness:
    """Plays cases in a folder of its own, with policies and baselines that it makes once."""

    def __init__(
        self, work: Path, seconds: int = PLAY_SECONDS, *, trains: bool = True, is_alone: bool = False
    ) -> None:
        """`seconds`: what the command may play; `trains`: whether games without a policy get one;
        `is_alone`: no baseline and no policy, as in the first run of a project.
        """
        self._work = work
        self._is_alone = is_alone
        self._seconds = seconds
        self._trains = trains
        work.mkdir(parents=True, exist_ok=True)

    def policy(self, game: CorpusGame) -> str | None:
        """A policy of the clean game: a folder, or the id of a run, which is trained when first asked for."""
        trained = game.folder / "trained"
        if self._is_alone:
            return None
        if trained.is_dir() or not (game.train and self._trains):
            return str(trained) if trained.is_dir() else None
        runs = self._work / "runs"
        if not (runs / game.name / "outcome.json").is_file():
            entry = game.build(self._work / game.name / "clean")
            words = (
                "train",
                str(entry),
                "--headless",
                "--exit",
                "--run-id",
                game.name,
                "--force",
                "--port",
                "0",
            )
            outcome = run_attract(*words, *game.train, "--json", runs_dir=runs, timeout_seconds=1800)
            if outcome.code != 0:
                raise RuntimeError(f"{game.name} was not trained:\n{outcome.stderr}")
            (runs / game.name / "outcome.json").write_text(outcome.stdout)
        return game.name

    def baseline(self, game: CorpusGame) -> Path:
        """File of the clean game's baseline; played when first asked for."""
        path = self._work / f"{game.name}.baseline.json"
        if not path.is_file():
            entry = game.build(self._work / game.name / "clean")
            outcome = self._command(game, entry, "--baseline", str(path), "--update-baseline")
            if outcome.code == 2 or not path.is_file():
                raise RuntimeError(f"{game.name} has no baseline:\n{outcome.stdout}\n{outcome.stderr}")
        return path

    def play(self, case: Case) -> Played:
        """Plays one case against the baseline."""
        game, change = case.game, case.change
        entry = game.build(self._work / game.name / (change.name if change else "clean"), change)
        if self._is_alone:
            flags = ("--seed", str(case.seed))
        else:
            flags = ("--baseline", str(other_seed(self.baseline(game), case.seed)))
        outcome = self._command(game, entry, *flags, "--json")
        try:
            report = outcome.json
        except (AssertionError, ValueError):
            said = (outcome.stderr or outcome.stdout)[-2000:]
            return Played(case.key, case.kind, case.oracles, outcome.code, outcome.seconds, 0, problem=said)
        return Played(
            case.key,
            case.kind,
            case.oracles,
            outcome.code,
            round(outcome.seconds, 1),
            report["episodes"],
            {finding["id"]: finding["text"] for finding in report["findings"]},
            tuple(finding["id"] for finding in report["known"]),
            {state["oracle"]: state["note"] for state in report["oracles"] if state["note"]},
            report.get("problem") or "",
        )

    def _command(self, game: CorpusGame, entry: Path, *flags: str) -> Outcome:
        policy = self.policy(game)
        words = [
            "ci",
            str(entry),
            "--seconds",
            str(self._seconds),
            "--out",
            str(entry.parent.with_suffix(".out")),
        ]
        if policy is not None:
            words += ["--policy", policy]
        command = AttractCommand(*words, *flags, runs_dir=self._work / "runs")
        return command.wait(self._seconds + GRACE_SECONDS)


def other_seed(baseline: Path, seed: int) -> Path:
    """A copy of the baseline whose outcomes are compared with episodes of another seed; 0: as it is."""
    if seed == 0:
        return baseline
    copy = baseline.with_suffix(f".{seed}.json")
    copy.write_text(json.dumps({**json.loads(baseline.read_text()), "seed": {"low": seed, "high": 0}}))
    return copy


def table(games: Sequence[CorpusGame], played: dict[str, Played]) -> str:
    """Markdown: a line a game, then a line a fault."""
    lines = [
        "| Game | Engine | Faults found | Median | Alarms in clean runs | Alarms after harmless changes |",
        "|---|---|---|---|---|---|",
    ]
    for game in games:
        mine = [played[case.key] for case in cases_of(game) if case.key in played]
        lines.append(f"| {game.name} | {game.engine} | {' | '.join(_counts(mine))} |")
    everything = [played[case.key] for game in games for case in cases_of(game) if case.key in played]
    lines += [f"| **all** | | {' | '.join(_counts(everything))} |", ""]
    lines += ["| Game | Fault | Found by | Seconds |", "|---|---|---|---|"]
    for game in games:
        for fault in game.faults:
            one = played.get(f"{game.name}:{fault.name}:0")
            if one is not None:
                by = ", ".join(f"`{name}`" for name in one.found_by) if one.is_right else "**missed**"
                lines.append(f"| {game.name} | {fault.says} | {by} | {one.seconds:.0f} |")
    return "\n".join(lines) + "\n"


def _counts(played: Sequence[Played]) -> list[str]:
    faults, clean, harmless = (
        [result for result in played if result.kind == kind] for kind in ("fault", "clean", "harmless")
    )
    found = [result.seconds for result in faults if result.is_right]
    wrong = [f"{sum(not result.is_right for result in group)} of {len(group)}" for group in (clean, harmless)]
    return [f"{len(found)} of {len(faults)}", f"{median(found):.0f} s" if found else "", *wrong]


def line_of(played: Played) -> str:
    """What is printed of a case."""
    verdict = "" if played.is_right else {"fault": "MISSED "}.get(played.kind, "FALSE ALARM ")
    said = ", ".join(played.findings) or played.problem.strip().replace("\n", " ")[-300:] or "nothing"
    return f"{verdict}{played.key}: {said} ({played.seconds:.0f} s, {played.episodes} episodes)"


def chosen(games: Sequence[CorpusGame], only: Sequence[str]) -> list[Case]:
    """Cases that one of `only` names (`GAME`, `GAME:NAME` or `GAME:NAME:SEED`); all when it is empty.

    Raises: ValueError: one of them names none.
    """
    cases = [case for game in games for case in cases_of(game)]
    for words in only:
        if not any(f"{case.key}:".startswith(f"{words}:") for case in cases):
            raise ValueError(
                f"no game or change is named {words!r}; games: {', '.join(game.name for game in games)}"
            )
    return [
        case for case in cases if not only or any(f"{case.key}:".startswith(f"{words}:") for words in only)
    ]


def main() -> int:
    """Plays and prints; 1 when a fault was missed or a sound build was accused."""
    parser = argparse.ArgumentParser(description="play the corpus of planted faults")
    parser.add_argument(
        "--only", action="append", default=[], metavar="GAME[:NAME[:SEED]]", help="only these"
    )
    parser.add_argument("--kind", choices=("fault", "harmless", "clean"), help="only cases of this kind")
    parser.add_argument("--again", action="store_true", help="play what the record has already")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder of other games")
    parser.add_argument(
        "--work", type=Path, default=WORK, help="folder of copies, policies, baselines, record"
    )
    parser.add_argument("--seconds", type=int, default=PLAY_SECONDS, help="for the play of each case")
    parser.add_argument("--alone", action="store_true", help="play without baselines and policies")
    parser.add_argument(
        "--table", action="store_true", help="play nothing; put the record into docs/notebook/ci.md"
    )
    given = parser.parse_args()
    games = load(given.corpus)
    harness = Harness(given.work, given.seconds, is_alone=given.alone)
    record = Record(given.work / "record", games)
    cases = [case for case in chosen(games, given.only) if given.kind in (None, case.kind)]
    for case in [] if given.table else cases:
        kept = record.played.get(case.key)
        # What could not be played is tried again.
        if given.again or kept is None or kept.code == 2:
            record.add(harness.play(case))
            print(line_of(record.played[case.key]), flush=True)
    print(table(games, record.played))
    if given.table:
        before, rest = GUIDE.read_text().split(BEGIN)
        GUIDE.write_text(f"{before}{BEGIN}\n{table(games, record.played)}{END}{rest.split(END)[1]}")
    return int(not all(record.played[case.key].is_right for case in cases if case.key in record.played))


if __name__ == "__main__":
    sys.exit(main())
