import pytest

from attract.playtest.unadapted import playable, unprobed, usual_inputs, with_watched

FOUND = """export default definePageGame({
  id: "Maze",
  page: "index.html",
  // Not found. Write them, then delete this line: nothing plays the adapter before.
  unfinished: ["keys","score"],
  size: [800, 600],
  action: discrete(["nothing"]),
  keys: { nothing: [] },
  reward: () => 1 / 60,
  over: () => false,
});
"""


def test_an_adapter_is_played_without_what_the_probe_did_not_find() -> None:
    text = playable(FOUND, ["score"])
    assert "unfinished" not in text
    assert "Not found" not in text
    assert "keys: { nothing: [] }" in text
    assert text.count("\n") == FOUND.count("\n") - 2


def test_usual_inputs_stand_in_for_those_that_were_not_found() -> None:
    text = playable(FOUND, ["keys", "score"])
    assert text.startswith('import { usualInputs } from "attract/page";\n')
    assert "  size: [800, 600],\n  ...usualInputs(),\n  reward:" in text


@pytest.mark.parametrize("text", ["", FOUND.replace("unfinished", "finished")])
def test_what_is_finished_stays_as_it_is(text: str) -> None:
    assert playable(text, []) == text


def test_pixels_are_left_out_so_that_a_page_draws_as_it_does_without_an_agent() -> None:
    adapter = 'import { definePageGame, discrete } from "attract/page";\n' + FOUND.replace(
        "  size: [800, 600],\n", "  size: [800, 600],\n  // The agent sees its canvas.\n  pixels: {},\n"
    )
    text = playable(adapter, ["score"])
    assert "pixels: {}" not in text
    assert "  observation: box({ low: -1, high: 1, shape: [1] }),\n  observe: () => [0],\n" in text
    assert text.startswith("import { box, definePageGame, discrete }")


def test_a_page_whose_probe_came_to_nothing_is_played_by_usual_inputs() -> None:
    found = unprobed('a "b".html', (640, 480))
    text = playable(found["adapter"], found["unfinished"])
    assert 'page: "a \\"b\\".html"' in text
    assert "size: [640, 480]" in text
    assert "...usualInputs()," in text and "keys:" not in text


def test_on_a_device_for_fingers_a_finger_taps_and_swipes_where_nothing_was_found() -> None:
    found = unprobed("index.html", (640, 480))
    by_itself = FOUND.replace("size: [800, 600],", "size: [800, 600],\n  touch: true,")
    for text in (
        playable(found["adapter"], found["unfinished"], "phone"),
        playable(by_itself, ["keys", "score"]),
    ):
        assert "...usualInputs({ touch: true })," in text
    assert "...usualInputs()," in playable(found["adapter"], found["unfinished"], "desktop@2x")
    said = [usual_inputs(by_itself, None), usual_inputs(FOUND, "tablet"), usual_inputs(FOUND, None)]
    assert said == [
        *["a finger swipes, and taps and drags places and elements"] * 2,
        "usual keys are pressed, places and elements clicked and dragged",
    ]


def test_variables_of_a_page_are_watched_and_nothing_else_that_is_seen() -> None:
    seen = ["w.lookInside().pipes?.[0]?.x", "w.ship.pos[1]", "w.stars", 'drawn(w).number("Score: #")']
    text = with_watched(
        FOUND, [*seen, 'w["a"](alert())', "w.state().x", "w.x; alert()"], [1, 1, 6, 1, 1, 1, 1]
    )
    assert '{ "pipes?.[0]?.x": w.lookInside().pipes?.[0]?.x, "ship.pos[1]": w.ship.pos[1] }' in text
    assert "alert" not in text
    assert with_watched(FOUND, seen[2:], [6, 1]) == FOUND
