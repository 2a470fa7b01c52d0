import json

import pytest

from attract.games.places import Place, SourceMap, first_place, method_stack, own_frames, own_stack
from attract.schema.game_messages import MethodSource

SHA = "ab" * 32

# By hand, base 64 VLQ, each field the difference to the one before (A = 0, C = 1): line n of the bundle is
# line n of catch.ts for 1 ("AAAA") and 2 ("AACA"), of the SDK for 3, of a package for 4 ("ACCA": next file).
MAP = json.dumps(
    {
        "version": 3,
        "sources": ["my games/catch.ts", "sdk/attract.js", "node_modules/noise/index.js"],
        "mappings": "AAAA;AACA;ACCA;ACCA",
    }
)


def find(sha: str) -> SourceMap | None:
    return SourceMap(MAP) if sha == SHA else None


@pytest.mark.parametrize(
    ("frame", "function"),
    [
        (f"    at Catch.update (http://127.0.0.1:8000/games/{SHA}.js:2:1)", "Catch.update"),
        (f"    at new Catch (http://127.0.0.1:8000/games/{SHA}.js:2:1)", "Catch"),
        (f"update@https://hub.example/user/me/proxy/8000/games/{SHA}.js:2:1", "update"),
        (f"    at games/{SHA}.js:2:1", ""),
    ],
)
def test_frames_of_every_browser_are_mapped(frame: str, function: str) -> None:
    assert own_frames(frame, find) == [(function, Place("my games/catch.ts", 2, 1))]


@pytest.mark.parametrize("sdk", ["sdk/attract.js", "sdk/page.js", "sdk/src/define-game.ts"])
def test_what_a_game_imports_of_ours_is_no_place_of_its_own(sdk: str) -> None:
    source_map = SourceMap(MAP.replace("sdk/attract.js", sdk))
    stack = f"    at box (http://h/games/{SHA}.js:3:1)\n    at Catch.update (http://h/games/{SHA}.js:2:1)"
    assert own_frames(stack, lambda _: source_map) == [("Catch.update", Place("my games/catch.ts", 2, 1))]


def test_of_a_stack_what_is_ours_is_dropped() -> None:
    stack = "\n".join(
        [
            "TypeError: Cannot read properties of undefined",
            f"    at noise (http://h/games/{SHA}.js:4:1)",
            f"    at Catch.update (http://h/games/{SHA}.js:2:1)",
            "    at Array.map (<anonymous>)",
            f"    at box (http://h/games/{SHA}.js:3:1)",
            "    at RolloutLoop.play (http://h/assets/rollout-DvjZGrs6.js:14:204152)",
        ]
    )
    own = own_stack(stack, find)
    assert own == (
        "    at noise (node_modules/noise/index.js:4:1)\n    at Catch.update (my games/catch.ts:2:1)"
    )
    assert first_place(own) == Place("my games/catch.ts", 2, 1), "a package is not the author's own"
    assert own_stack("Error: x\n    at play (http://h/assets/rollout-1.js:1:2)", find) is None
    assert first_place(None) is None


def test_a_bundle_without_a_map_is_its_own_file() -> None:
    assert (
        own_stack(f"    at f (http://h/games/{'cd' * 32}.js:7:8)", find)
        == f"    at f (games/{'cd' * 32}.js:7:8)"
    )


CODE = """class Catch {
update() { return { reward: 0 / 0 }; }
}"""


def test_a_method_is_found_by_its_source_and_the_field_within_it() -> None:
    text = "update() { return { reward: 0 / 0 }; }"
    whole = MethodSource(name="Catch.update", text=text)
    assert method_stack(whole, CODE, find(SHA)) == "    at Catch.update (my games/catch.ts:2:1)"
    assert "catch.ts:2:1" in method_stack(whole.model_copy(update={"field": "reward"}), CODE, find(SHA))


@pytest.mark.parametrize(
    ("text", "code"),
    [("", CODE), ("update() {}", CODE), ("a", "a\na")],
    ids=["no source", "not in the bundle", "twice in the bundle"],
)
def test_a_method_that_cannot_be_told_is_named_without_a_place(text: str, code: str) -> None:
    method = MethodSource(name="Catch.update", text=text)
    assert method_stack(method, code, find(SHA)) == "    at Catch.update"
    assert first_place("    at Catch.update") is None
