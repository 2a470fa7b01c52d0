"""Checks that each built rule of `docs/contributing/rules.md` has a test with its id, and files are short.

Biome holds the same length for TypeScript and style sheets (`biome.json`).
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r"^- \*\*([TESPCID]\d+)\*\* \((built|planned)\)", re.MULTILINE)
VITEST_TITLE = re.compile(
    r"""(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*["'`]((?:[TESPCID]\d+(?:, )?)+): """
)
"""A title follows `it(`, `test(`, `describe(`, or the closing parenthesis of `.each(...)`."""
PYTHON_NAME = re.compile(r"^test_((?:[TESPCID]\d+_)+)")
MAX_LINES = 500
"""Limit for a file of source or tests; split a longer one by what changes together."""
WRITTEN = ("backend/attract", "benchmarks", "shared_schema", "tests")


def main(root: Path = ROOT) -> int:
    """Prints every problem; the exit code."""
    problems = [*rule_problems(root), *length_problems(root)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def rules(root: Path) -> dict[str, str]:
    """Rule id to `built` or `planned`, in the order of the document."""
    return dict(RULE.findall((root / "docs" / "contributing" / "rules.md").read_text()))


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
        f"{path} has a test of {rule}, which docs/contributing/rules.md does not know"
        for rule, paths in sorted(tested.items())
        if rule not in known
        for path in paths
    ]
    return untested + unknown


def length_problems(root: Path) -> list[str]:
    """Files of Python with more than `MAX_LINES` lines."""
    lengths = {
        path.relative_to(root): len(path.read_text().splitlines())
        for folder in WRITTEN
        for path in sorted((root / folder).rglob("*.py"))
    }
    return [
        f"{path} has {lines} lines, {MAX_LINES} at the most: split it"
        for path, lines in lengths.items()
        if lines > MAX_LINES
    ]


def _python_ids(path: Path) -> set[str]:
    names = {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    matches = [match for name in names if (match := PYTHON_NAME.match(name))]
    return {rule for match in matches for rule in match[1].rstrip("_").split("_")}


if __name__ == "__main__":
    sys.exit(main())
