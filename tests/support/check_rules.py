"""Checks that every built rule of `docs/rules.md` has a test with its id, and that tests mirror source.

Both ways: every test file names a module, and every module of Python and of most of the browser side has
tests or stands, with a reason, in a list of exceptions. And no file of the source is long.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r"^- \*\*([TESPCID]\d+)\*\* \((built|planned)\)", re.MULTILINE)
VITEST_TITLE = re.compile(
    r"""(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*["'`]((?:[TESPCID]\d+(?:, )?)+): """
)
"""A title follows `it(`, `test(`, `describe(`, or the closing parenthesis of `.each(...)`."""
PYTHON_NAME = re.compile(r"^test_((?:[TESPCID]\d+_)+)")
UNMIRRORED = ("contract", "end_to_end", "faults", "support", "mutants")
"""Folders of `tests/` whose modules test more than one source module."""
PYTHON_SOURCES = {"backend": "backend/attract", "benchmarks": "benchmarks/attract_benchmarks"}
"""Folder of `tests/` to the package whose modules it tests."""
WEB_SOURCES = ("web", "benchmarks")
MIRRORED_BACK = ("web/worker/src", "web/sdk/src", "web/play/src", "web/dashboard/src")
"""Folders of the source of which every module has a test of its name, or a reason in `UNTESTED` why not."""
UNTESTED = Path("tests/support/untested_modules.toml")
CAST = " as never"
MAX_CASTS = 3
"""Limit for the source in `web`; a comment on the line before each cast says why types cannot express it."""
MAX_LINES = 500
"""Limit for a file of source or tests that is not generated; split a longer one by what changes together."""
WRITTEN = {".py", ".ts", ".tsx", ".mjs", ".js", ".css"}
NOT_WRITTEN = {"node_modules", "dist", "build", "built"}
"""Folders of what is installed, built or generated."""
BUILT_PAGES = Path("backend/attract/web")
WHOLE_PACKAGE = ("simulation",)
"""Modules that drive a package as a whole, beside those that test its modules one by one."""

EXCEPTIONS = "tests/untested_modules.toml"
"""Python modules without tests of their own, each with the reason."""


def main(root: Path = ROOT) -> int:
    """Prints every problem; the exit code."""
    problems = [
        *rule_problems(root),
        *mirror_problems(root),
        *untested_problems(root),
        *untested_web_problems(root),
        *cast_problems(root),
        *length_problems(root),
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def rules(root: Path) -> dict[str, str]:
    """Rule id to `built` or `planned`, in the order of the document."""
    return dict(RULE.findall((root / "docs" / "rules.md").read_text()))


def rules_with_tests(root: Path) -> dict[str, list[Path]]:
    """Rule id to the test files that have a test named after it."""
    found: dict[str, list[Path]] = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix == ".py":
            ids = _python_ids(path)
        elif path.name.endswith((".test.ts", ".test.tsx")):
            ids = {rule for title in VITEST_TITLE.findall(path.read_text()) for rule in title.split(", ")}
        else:
            continue
        for rule in ids:
            found.setdefault(rule, []).append(path.relative_to(root))
    return found


def rule_problems(root: Path) -> list[str]:
    """Built rules without a test, and tests named after rules that do not exist."""
    known, tested = rules(root), rules_with_tests(root)
    untested = [
        f"{rule} is built, but no test carries its id (test_{rule}_... or vitest '{rule}: ...')"
        for rule, state in known.items()
        if state == "built" and rule not in tested
    ]
    unknown = [
        f"{path} has a test of {rule}, which docs/rules.md does not know"
        for rule, paths in sorted(tested.items())
        if rule not in known
        for path in paths
    ]
    return untested + unknown


def mirror_problems(root: Path) -> list[str]:
    """Test modules that stand where no source module of their name does; `-speed` may follow the name.

    The tests of one module may be a folder of its name, with a test module for each concern.
    """
    problems: list[str] = []
    tests = root / "tests"
    for path in sorted(tests.rglob("test_*.py")):
        inside = path.relative_to(tests)
        if inside.parts[0] in UNMIRRORED:
            continue
        stem = path.stem.removeprefix("test_")
        source = PYTHON_SOURCES.get(inside.parts[0], "nowhere")
        folder = root / source / Path(*inside.parts[1:-1])
        is_one_of_several = folder.with_suffix(".py").is_file()
        if not (is_one_of_several or _python_module(folder, stem)):
            problems.append(
                f"tests/{inside} mirrors no module: {folder.relative_to(root)}/{stem}.py is not there"
            )
    for path in sorted([*tests.rglob("*.test.ts"), *tests.rglob("*.test.tsx")]):
        inside = path.relative_to(tests)
        if inside.parts[0] in UNMIRRORED:
            continue
        stem = _web_stem(path)
        folders = _web_folders(root / inside.parts[0], inside.parts[1:-1])
        is_one_of_several = any(folder.with_suffix(".ts").is_file() for folder in folders)
        if inside.parts[0] not in WEB_SOURCES or not (is_one_of_several or _web_module(folders, stem)):
            problems.append(f"tests/{inside} mirrors no module: {'/'.join(inside.parts[:-1])} has no {stem}")
    return problems


def untested_problems(root: Path) -> list[str]:
    """Python modules that have no tests of their own and are not excepted, and exceptions that are not true.

    A module's tests are `test_<module>.py` where it stands, or a folder of its name. An entry of
    `tests/untested_modules.toml` excepts `modules` for one `reason`; `shown_by` are the tests that run them.
    """
    source, tests = root / "backend" / "attract", root / "tests" / "backend"
    untested = {
        str(path.relative_to(source))
        for path in sorted(source.rglob("*.py"))
        if path.name != "__init__.py" and not _has_tests(tests, path.relative_to(source))
    }
    problems: list[str] = []
    excepted: set[str] = set()
    for entry in _exceptions(root):
        modules = entry.get("modules", [])
        if not modules or not str(entry.get("reason", "")).strip():
            problems.append(f"{EXCEPTIONS}: an entry needs `modules` and a `reason`, it has {entry}")
        for module in modules:
            if not (source / module).is_file():
                problems.append(f"{EXCEPTIONS}: {module} is gone: take it out")
            elif module not in untested:
                problems.append(f"{EXCEPTIONS}: {module} has tests of its own: take it out")
            elif module in excepted:
                problems.append(f"{EXCEPTIONS}: {module} stands in two entries: leave one")
            excepted.add(module)
        problems += [
            f"{EXCEPTIONS}: {test} is to show {', '.join(modules)}, and is not there"
            for test in entry.get("shown_by", [])
            if not (root / test).exists()
        ]
    problems += [
        f"backend/attract/{module} has no tests: write tests/backend/{_test_of(Path(module))}, "
        f"or say why not in {EXCEPTIONS}"
        for module in sorted(untested - excepted)
    ]
    return problems


def _exceptions(root: Path) -> list[dict[str, Any]]:
    path = root / EXCEPTIONS
    return tomllib.loads(path.read_text()).get("exception", []) if path.is_file() else []


def _has_tests(tests: Path, module: Path) -> bool:
    folder = tests / module.with_suffix("")
    return (tests / _test_of(module)).is_file() or any(folder.glob("test_*.py"))


def _test_of(module: Path) -> Path:
    return module.with_name(f"test_{module.name}")


def untested_web_problems(root: Path) -> list[str]:
    """Source modules without a test of their name that give no reason, and reasons that no module needs."""
    reasons: dict[str, str] = {}
    if (root / UNTESTED).is_file():
        reasons = tomllib.loads((root / UNTESTED).read_text())
    tests = root / "tests"
    tested: set[Path] = set()
    for path in [*tests.rglob("*.test.ts"), *tests.rglob("*.test.tsx")]:
        inside = path.relative_to(tests)
        if inside.parts[0] != "web":
            continue
        folders = _web_folders(root / "web", inside.parts[1:-1])
        tested.update(folder / _web_stem(path) for folder in folders)
        tested.update(folders)
    modules = {
        str(path.relative_to(root)): path.with_suffix("") in tested
        for folder in MIRRORED_BACK
        for path in sorted((root / folder).rglob("*.ts"))
    }
    problems = [
        f"{module} has no test of its name, and {UNTESTED} gives no reason why not"
        for module, is_tested in modules.items()
        if not is_tested and not reasons.get(module, "").strip()
    ]
    for module in reasons:
        if module not in modules:
            problems.append(f"{UNTESTED} names {module}, which is not there")
        elif modules[module]:
            problems.append(f"{UNTESTED} names {module}, which has a test of its name")
    return problems


def cast_problems(root: Path) -> list[str]:
    """Casts to `never` in the source of `web` without a word on why, or more of them than there may be."""
    places: list[str] = []
    problems: list[str] = []
    for path in sorted([*(root / "web").rglob("*.ts"), *(root / "web").rglob("*.tsx")]):
        if "node_modules" in path.parts or not path.is_file():
            continue
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if CAST not in line.partition("//")[0] or line.lstrip().startswith(("*", "/**", "//")):
                continue
            places.append(f"{path.relative_to(root)}:{number}")
            if not lines[number - 2].lstrip().startswith("//"):
                problems.append(f"{places[-1]} casts to never without a comment that says why")
    if len(places) > MAX_CASTS:
        problems.append(f"{len(places)} casts to never, {MAX_CASTS} at the most: {', '.join(places)}")
    return problems


def length_problems(root: Path) -> list[str]:
    """Files of source and tests with more than `MAX_LINES` lines."""
    problems: list[str] = []
    for folder in ("backend", "benchmarks", "web", "tests", "shared_schema"):
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            if path.suffix not in WRITTEN or path.stem.endswith(".gen") or not path.is_file():
                continue
            if NOT_WRITTEN & set(inside.parts) or inside.is_relative_to(BUILT_PAGES):
                continue
            lines = len(path.read_text().splitlines())
            if lines > MAX_LINES:
                problems.append(f"{inside} has {lines} lines, {MAX_LINES} at the most: split it")
    return problems


def _web_stem(path: Path) -> str:
    """The name of the module that a test module of vitest is named after."""
    return re.sub(r"(-speed)?(\.browser)?\.test\.tsx?$", "", path.name)


def _python_ids(path: Path) -> set[str]:
    names = {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    matches = [match for name in names if (match := PYTHON_NAME.match(name))]
    return {rule for match in matches for rule in match[1].rstrip("_").split("_")}


def _python_module(folder: Path, stem: str) -> bool:
    if stem in WHOLE_PACKAGE:
        return (folder / "__init__.py").is_file()
    return (folder / f"{stem}.py").is_file() or (folder / stem / "__init__.py").is_file()


def _web_folders(web: Path, parts: tuple[str, ...]) -> list[Path]:
    """Beside a workspace's name its `src` may be left out."""
    return [web.joinpath(*parts), web.joinpath(parts[0], "src", *parts[1:])] if parts else []


def _web_module(folders: list[Path], stem: str) -> bool:
    """A game's module is `<game>/game.ts`."""
    names = (f"{stem}.ts", f"{stem}.tsx", f"{stem}.mjs", f"{stem}/game.ts", f"{stem}/index.ts")
    return any((folder / name).is_file() for folder in folders for name in names)


if __name__ == "__main__":
    sys.exit(main())
