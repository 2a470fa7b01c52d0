"""The words of the tree: terms of docs/words.md, nouns of module_nouns.txt, and none that were given up."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from check_rules import ROOT

NOUNS = Path(__file__).with_name("module_nouns.txt")
WORDS = ((ROOT / "docs" / "words.md").read_text() + NOUNS.read_text()).lower()
RETIRED = {
    r"(?:un|is|_)?[Ss]eated(?!\w)": "admitted: a worker; a seat is an agent's",
    r"the version that acted": "the behaviour policy",
    r"hearing|hear_worker|hear_host|heard_at": "message_handlers, handle_worker_message, last_seen",
    r"wishes|_?carry_out(?=\()": "effects, apply_effects",
    r"LookAgain": "WakeAfter",
    r"apprais(e|al)\w*": "evaluate_batch, BatchEvaluation",
    r"lockstep\.py|Lockstep|PolicyTrainer": "policy_group, PolicyGroup, PolicyUpdater",
    r"shared_names|part_of(?=\()": "tensor_namespaces, strip_prefix",
    r"phase_spread|EpisodePhases": "episode_desynchronisation",
    r"UpdateRates|rates_at": "ScheduledHyperparameters",
    r"trust_all": "verify",
    r"FleetGate": "StartBarrier",
    r"run_course|RunCourse|[A-Z]?\w*Director": "run/callbacks, CurriculumController",
    r"run_news|RunNews": "notifications",
    r"sittings?": "session",
    r"is_deaf": "is_closed",
    r"farewell\w*|last_words|ears": "shutdown message, last_error, listener store",
    r"patiently": "retry_while_full",
    r"ServedVoid": "CancelLease",
    r"[Rr]ivals?|RIVALS?": "baseline",
    r"SHAKE": "WEIGHT_NOISE",
    r"Cabinet": "GamePanel",
    r"CheckOrder|ResultsOrder|EvaluateOrder|TrainOrder|BenchOrder|FleetOrder|ThreadOrder": "...Options",
}
HISTORY = ("CHANGELOG.md", "docs/decisions/", "tests/contract/test_words.py", "package-lock.json")
"""What says how things were called, and this list."""
ABBREVIATIONS = {
    "api",
    "asgi",
    "cli",
    "lstm",
    "onnx",
    "dqn",
    "philox",
    "ppo",
    "sb3",
    "http",
    "node",
    "in",
    "to",
}
GLUE = {
    "init",
    "main",
    "base",
    "common",
    "kept",
    "played",
    "ready",
    "whole",
    "bare",
    "built",
    "plain",
    "quiet",
}
TELLING = re.compile(
    r"(?:^|[^A-Za-z]|(?<=[a-z0-9])(?=T))(?:(?:[Tt]ells?|[Tt]old)(?![a-z])|(?:TELLS?|TOLD)(?![A-Za-z]))"
)
"""A whole name, or a part of one between underscores or humps."""
ON_THE_WIRE = {"tells_terminal", "_tells_terminal", "#tellsTerminal"}
"""A field of the lease, and where it is kept."""
TYPESCRIPT = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<name>\#?[A-Za-z_$][\w$]*)|[\w.]+|.""",
    re.DOTALL,
)
REGEX = re.compile(r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
BEFORE_REGEX = {*"(,=:[!&|?{};+-*%~^<>", "", "return", "typeof", "case", "of", "in"}


def _files() -> list[str]:
    return subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_no_retired_word_has_come_back():
    retired = re.compile("|".join(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])" for word in RETIRED))
    found: list[str] = []
    for name in _files():
        path = ROOT / name
        if name.startswith(HISTORY) or path.suffix in {".png", ".bin", ".gz"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{name}: {match[0]}" for match in retired.finditer(text)]
        found += [f"{name}: {match[0]}" for match in retired.finditer(path.name)]
    assert not found, f"{found}; the words instead: {RETIRED}"


def test_every_noun_that_a_module_is_named_after_is_in_the_list_of_words():
    package = ROOT / "backend" / "attract"
    names = {
        part for path in package.rglob("*.py") for part in path.relative_to(package).with_suffix("").parts
    }
    nouns = {noun for name in names for noun in name.split("_") if noun} - ABBREVIATIONS - GLUE
    unknown = sorted(noun for noun in nouns if not _stems(noun) & _known())
    assert not unknown, f"new nouns; list them in {NOUNS.name}, terms of ours in docs/words.md: {unknown}"


def _known() -> set[str]:
    return {stem for word in re.findall(r"[a-z]+", WORDS) for stem in _stems(word)}


def _stems(word: str) -> set[str]:
    """The word without the endings of plurals and verbs."""
    return {
        word,
        *(word.removesuffix(end) for end in ("s", "es", "ing", "ed", "er", "r", "e") if word.endswith(end)),
    } | ({word[:-3] + "y"} if word.endswith("ies") else set())


def test_what_is_looped_over_is_called_by_its_noun():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("backend/attract", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for line in _nameless(path.read_text())
    ]
    assert not found, f"`one` says nothing of what it is: {found}"


def _nameless(source: str) -> list[int]:
    """Lines of loops, comprehensions and keys whose variable is `one`; a pair `one, other` has a meaning."""
    lines: list[int] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.Lambda(args=arguments):
                target, names = node, {argument.arg for argument in arguments.args}
            case _:
                continue
        if "one" in names and "other" not in names:
            lines.append(target.lineno)
    return lines


def test_a_loop_without_a_noun_is_found():
    source = "for one in x: pass\n[f(one) for one in x]\nsorted(x, key=lambda one: one)\n"
    assert _nameless(source + "for one, other in x: pass\n") == [1, 2, 3]


def test_no_name_in_the_code_tells():
    """Sentences may; a name says what is sent, published, reported, printed or claimed."""
    found: list[str] = []
    for file in _files():
        names_of = NAMES_OF.get(Path(file).suffix)
        if names_of is None or ".gen." in file or not (ROOT / file).is_file():
            continue
        source = (ROOT / file).read_text()
        if TELLING.search(source):
            found += [f"{file}: {name}" for name in names_of(source) if TELLING.search(name)]
    found = [name for name in found if name.split()[-1] not in ON_THE_WIRE]
    assert not found, f"{found}; the words instead: send, publish, report, print, claimed, or the noun"


def _python_names(source: str) -> Iterator[str]:
    """All names but those of tests, which are sentences, and the method of an Optuna study."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "tell"
            and ast.unparse(node.value).endswith("study")
        ):
            continue
        for field in ("id", "arg", "attr", "name", "asname", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not name.startswith("test_"):
                yield name


def _typescript_names(source: str) -> Iterator[str]:
    """What stands in no comment, string or regular expression; of a template what is computed in it."""
    at, last = 0, ""
    depths: list[int] = []
    """Per open template literal, the number of open braces in its expression."""
    while at < len(source):
        if source[at] == "`" or (source[at] == "}" and depths and depths[-1] == 0):
            if source[at] == "}":
                depths.pop()
            at += 1
            while source[at] != "`" and not source.startswith("${", at):
                at += 2 if source[at] == "\\" else 1
            last = source[at]
            if last == "$":
                depths.append(0)
                at, last = at + 1, "{"
            at += 1
            continue
        is_regex = source[at] == "/" and last in BEFORE_REGEX
        token = (REGEX.match(source, at) if is_regex else None) or TYPESCRIPT.match(source, at)
        assert token is not None
        at = token.end()
        kind = token.lastgroup
        if kind == "name":
            yield token[0]
        if kind != "gap":
            last = token[0]
        if depths:
            depths[-1] += {"{": 1, "}": -1}.get(token[0], 0)


NAMES_OF = {
    ".py": _python_names,
    ".ts": _typescript_names,
    ".tsx": _typescript_names,
    ".js": _typescript_names,
}


def test_a_name_that_tells_is_found_and_a_sentence_is_not():
    python = "class Box:\n  def tell(self, told_last, *, is_told): x.told = f'told {tells_all}', TOLD\n"
    found = {name for name in _python_names(python) if TELLING.search(name)}
    assert found == {"tell", "told_last", "is_told", "told", "tells_all", "TOLD"}
    sentences = "# told\ndef test_it_is_told(): study.tell('told', TELLING)\n"
    assert not [name for name in _python_names(sentences) if TELLING.search(name)]
    script = "/* told */ `told ${told({ a: `${isTold}` })} tell`; // tell\nf(/'told/, '\\'tell', x.#tellAll);"
    assert [name for name in _typescript_names(script) if TELLING.search(name)] == [
        "told",
        "isTold",
        "#tellAll",
    ]
