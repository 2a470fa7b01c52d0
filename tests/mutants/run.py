"""Breaks each built rule in a copy of the source and expects the test that carries the rule's id to go red.

What stands in no rule, such as limits, goes by the number of the decision that set it.

`python tests/mutants/run.py [RULE...]` runs the mutants of these rules, or all. It fails when one survives,
when its text is no longer in the source, when its test is not green to begin with, or after half an hour.
"""

import gc
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TIME_LIMIT_SECONDS = 1800.0
TEST_LIMIT_SECONDS = 60.0
NUM_COPIES = 2
"""Mutants tried at the same time, each in a copy of the tree of its own."""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["torch._dynamo", "onnx", "onnxruntime", "fastapi", "hypothesis", "pytest"])
DONE, FAILED, BROKEN = 0, 1, 2
"""What a test command can say: green, red, or that it could not be run."""


@dataclass(frozen=True)
class Mutant:
    """One way to break one rule: `find` occurs exactly once in `file` and becomes `replace`."""

    rule: str
    file: str
    find: str
    replace: str
    test: str
    """`path::test_name` or `path::test_name[case]` for pytest, `path::title` for vitest: it must go red."""

    @property
    def test_file(self) -> str:
        """Relative path of the test's module."""
        return self.test.split("::", 1)[0]

    @property
    def title(self) -> str:
        """The test's own name."""
        return self.test.split("::", 1)[1]

    def apply(self, root: Path) -> str:
        """Writes the mutant under `root`; returns the text that was there before."""
        path = root / self.file
        before = path.read_text()
        path.write_text(before.replace(self.find, self.replace))
        return before


def load(folder: Path = HERE) -> list[Mutant]:
    """Every mutant of `*.toml` beside this file, by file name and place."""
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            mutants.append(Mutant(**entry))
    return mutants


def static_problems(mutants: Iterable[Mutant], root: Path) -> list[str]:
    """What is wrong with the mutants without running any of them."""
    problems: list[str] = []
    for mutant in mutants:
        where = f"{mutant.rule} in {mutant.file} ({mutant.find.strip().splitlines()[0][:60]!r})"
        path, test = root / mutant.file, root / mutant.test_file
        count = path.read_text().count(mutant.find) if path.is_file() else 0
        if count != 1:
            problems.append(f"{where}: the text to find is there {count} times, must be once")
        if mutant.find == mutant.replace:
            problems.append(f"{where}: changes nothing")
        if not re.search(rf"\b{mutant.rule}\b", mutant.title.replace("_", " ")):
            problems.append(f"{where}: its test {mutant.title!r} does not carry the rule's id")
        if not test.is_file() or mutant.title.split("[")[0] not in test.read_text():
            problems.append(f"{where}: there is no test {mutant.test}")
    return problems


def make_copy(root: Path, to: Path) -> None:
    """A copy of the working tree whose packages are its own; what is installed is linked, not copied."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    built = root / "backend" / "attract" / "web"
    if built.is_dir():
        (to / "backend" / "attract" / "web").symlink_to(built)
    _link_modules(root / "node_modules", to / "node_modules")


def _link_modules(source: Path, to: Path) -> None:
    """Workspaces are links into the tree: they must lead into the copy, or its mutants would not be seen."""
    to.mkdir()
    for entry in source.iterdir():
        if entry.is_symlink():
            (to / entry.name).symlink_to(entry.readlink())
        elif entry.name.startswith("@"):
            _link_modules(entry, to / entry.name)
        elif entry.name not in (".vite", ".vite-temp"):
            (to / entry.name).symlink_to(entry)


def run_tests(tests: list[tuple[str, str]], root: Path, limit_seconds: float) -> tuple[int, str]:
    """Runs (file, title) pairs of one language in a tree.

    Returns: DONE, FAILED or BROKEN, and what the runner printed.
    """
    run = _pytest if tests[0][0].endswith(".py") else _vitest
    code, printed = run(tests, root, limit_seconds)
    if code is None:
        return BROKEN, f"not done after {limit_seconds:g} s\n{printed}"
    if code == 0:
        ran = re.search(r"\b[1-9]\d* passed", printed) is not None
        return (DONE, printed) if ran else (BROKEN, f"no test ran\n{printed}")
    red = re.search(r"\b[1-9]\d* failed", printed) is not None and not re.search(r"\d errors?\b", printed)
    return (FAILED, printed) if red else (BROKEN, printed)


def _vitest(tests: list[tuple[str, str]], root: Path, limit_seconds: float) -> tuple[int | None, str]:
    titles = "|".join(re.escape(title) for _, title in tests)
    command = [
        "node",
        str(root / "node_modules/vitest/vitest.mjs"),
        "run",
        *sorted({file for file, _ in tests}),
    ]
    try:
        done = subprocess.run(
            [*command, "-t", titles],
            cwd=root,
            env=os.environ | {"NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_seconds,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


def _pytest(tests: list[tuple[str, str]], root: Path, limit_seconds: float) -> tuple[int | None, str]:
    """In a fork of a process that has imported torch already: its import takes longer than most tests."""
    output = root / ".pytest-output"
    ids = [f"{file}::{title}" for file, title in tests]
    child = FORKS.Process(target=_pytest_here, args=(str(root), str(output), ids))
    child.start()
    child.join(limit_seconds)
    code = child.exitcode
    if code is None:
        child.kill()
        child.join()
    return code, output.read_text() if output.exists() else ""


def _pytest_here(root: str, output: str, ids: list[str]) -> None:
    """The forked child: everything it and its own children import of ours comes from `root`."""
    os.chdir(root)
    with Path(output).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.dont_write_bytecode = True
    sys.path[0] = str(Path(root, "backend"))
    os.environ["PYTHONPATH"] = sys.path[0]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    import pytest

    # Else each of pytest's collections would walk all of torch.
    gc.freeze()
    code = int(
        pytest.main(
            [
                *("-q", "-x", "--no-header", "--color=no", "--assert=plain"),
                *("-p", "no:cacheprovider", "-p", "no:rerunfailures"),
                *ids,
            ]
        )
    )
    sys.stdout.flush()
    # Without the interpreter's own end: a broken rule may have left threads that never do.
    os._exit(code)


def main(arguments: list[str]) -> int:
    """Runs the mutants and prints one line for each; the exit code."""
    started = time.monotonic()
    mutants = [mutant for mutant in load() if not arguments or mutant.rule in arguments]
    problems = static_problems(mutants, ROOT)
    if not mutants or problems:
        print("\n".join(problems or ["no mutant of these rules"]), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="attract-mutants-") as name:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(NUM_COPIES):
            copy = Path(name) / str(number)
            copy.mkdir()
            make_copy(ROOT, copy)
            copies.put(copy)

        def in_a_copy(tests: list[tuple[str, str]], mutant: Mutant | None) -> tuple[int, str]:
            left = TIME_LIMIT_SECONDS - (time.monotonic() - started)
            if left <= 0:
                return BROKEN, f"the {TIME_LIMIT_SECONDS:g} s of all mutants together are over"
            copy = copies.get()
            before = mutant.apply(copy) if mutant else ""
            try:
                return run_tests(tests, copy, min(left, TEST_LIMIT_SECONDS if mutant else left))
            finally:
                if mutant:
                    (copy / mutant.file).write_text(before)
                copies.put(copy)

        distinct = sorted({(mutant.test_file, mutant.title) for mutant in mutants})
        languages = [[t for t in distinct if t[0].endswith(".py") == python] for python in (True, False)]
        with ThreadPoolExecutor(NUM_COPIES) as pool:
            greens = list(pool.map(lambda tests: in_a_copy(tests, None), filter(None, languages)))
            for outcome, printed in greens:
                if outcome != DONE:
                    print(f"tests are not green before anything is broken:\n{printed}", file=sys.stderr)
                    return 1
            outcomes = pool.map(lambda m: in_a_copy([(m.test_file, m.title)], m), mutants)
            survivors = sum(_report(m, *outcome) for m, outcome in zip(mutants, outcomes, strict=True))
    print(f"{len(mutants) - survivors} of {len(mutants)} caught in {time.monotonic() - started:.0f} s")
    return 1 if survivors else 0


def _report(mutant: Mutant, outcome: int, printed: str) -> bool:
    """Prints a mutant's fate; True if it was not caught."""
    caught = outcome == FAILED
    verdict = {DONE: "SURVIVED", FAILED: "caught", BROKEN: "could not be run"}[outcome]
    change = " ".join(mutant.replace.split()) or f"without {' '.join(mutant.find.split())}"
    print(f"{mutant.rule:4} {verdict:9} {mutant.file}: {change[:60]}", flush=True)
    if not caught:
        print(f"     {mutant.test}\n{printed[-3000:]}", flush=True)
    return not caught


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
