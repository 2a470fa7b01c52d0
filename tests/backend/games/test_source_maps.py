import json

import pytest

from attract.games.places import SourceMap

# By hand, base 64 VLQ: A = 0, C = 1, E = 2, I = 4, K = 5, D = -1; g is a digit with more to follow.
# Line 1: column 0 -> a.ts 1:1 ("AAAA"); column 4 -> a.ts 1:3 ("IAAE").
# Line 2: nothing. Line 3: column 5 -> b.ts 2:2 ("KCCD": source +1, line +1, column 2 - 1 = 1, so 2:2).
# Line 4: column 16 ("gB": 16 = 0b10000, doubled 32 = 0b1_00000) -> b.ts 2:3 ("AAC").
MAP = json.dumps({"version": 3, "sources": ["a.ts", "b.ts"], "mappings": "AAAA,IAAE;;KCCD;gBAAC"})


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (1, 1, ("a.ts", 1, 1)),
        (1, 4, ("a.ts", 1, 1)),
        (1, 5, ("a.ts", 1, 3)),
        (1, 99, ("a.ts", 1, 3)),
        (2, 1, None),
        (3, 5, None),
        (3, 6, ("b.ts", 2, 2)),
        (4, 16, None),
        (4, 17, ("b.ts", 2, 3)),
        (5, 1, None),
        (0, 1, None),
    ],
)
def test_positions_are_those_of_the_nearest_segment_before(
    line: int, column: int, expected: tuple[str, int, int] | None
):
    assert SourceMap(MAP).original(line, column) == expected


@pytest.mark.parametrize("bad", ["[]", "{}", '{"version": 2, "mappings": ""}', "not json"])
def test_what_is_no_version_3_map_is_refused(bad: str):
    with pytest.raises(ValueError):
        SourceMap(bad)


def test_a_digit_outside_base_64_is_refused():
    with pytest.raises(ValueError, match="!"):
        SourceMap(json.dumps({"version": 3, "sources": [], "mappings": "A!"}))


def test_n14_sources_of_bundled_games_say_so_and_have_no_way_out_of_a_folder():
    sources = [
        "../../../../../web/games/lander/game.ts",
        "../../../../../../web/page-games/moles/game.page.ts",
    ]
    sources += [
        "../../../../../web/sdk/src/errors.ts",
        "../../../../../node_modules/planck/src/a.ts",
        "own/a.ts",
    ]
    named = SourceMap(json.dumps({"version": 3, "sources": sources, "mappings": ""})).sources
    assert named == [
        "bundled/lander/game.ts",
        "bundled/moles/game.page.ts",
        "sdk/src/errors.ts",
        "node_modules/planck/src/a.ts",
        "own/a.ts",
    ]
