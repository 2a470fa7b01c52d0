import re
import xml.etree.ElementTree as ElementTree

from attract.playtest.difficulty import DifficultyReport, Estimate, ValueDifficulty
from attract.playtest.difficulty_page import HEIGHT, MARGIN, WIDTH, page_of


def report(*difficulties: float | None) -> DifficultyReport:
    nothing = Estimate(mean=None, low=20.0, high=None)
    rows = [
        ValueDifficulty(
            value=float(place),
            difficulty=None if mean is None else Estimate(mean=mean, low=mean, high=mean),
            win_rate=Estimate(mean=0.0, low=0.0, high=0.1),
            attempts=nothing,
            episode_return=Estimate(mean=1.0, low=None, high=None),
            length=Estimate(mean=10.0, low=9.0, high=11.0),
            episodes=8,
            outside={"win_rate": "below"} if place == 0 else {},
        )
        for place, mean in enumerate(difficulties)
    ]
    return DifficultyReport(
        game="<b>game</b>",
        build="",
        parameter="a&b",
        verdict="inside",
        values=rows,
        seeds=4,
        players=["idle"],
    )


def chart(report: DifficultyReport) -> str:
    page = page_of(report)
    return page[page.index("<svg") : page.index("</svg>") + len("</svg>")]


def test_the_chart_has_each_value_at_its_place() -> None:
    drawing = ElementTree.fromstring(chart(report(0.0, 1.0, 0.5)))
    lines = [element.attrib["points"] for element in drawing.iter("polyline")]
    bottom, top = HEIGHT - MARGIN, MARGIN
    assert lines[0] == (
        f"{MARGIN}.0,{bottom}.0 {WIDTH / 2:.1f},{top}.0 {WIDTH - MARGIN}.0,{(bottom + top) / 2:.1f}"
    )
    assert [element.text for element in drawing.iter("text")][-2:] == ["difficulty", "win rate"]


def test_without_a_difficulty_the_win_rate_is_drawn_alone() -> None:
    assert chart(report(None, None)).count("<polyline") == 1


def test_the_page_names_game_and_parameter_as_text_and_loads_nothing() -> None:
    page = page_of(report(0.25, 0.5))
    assert "&lt;b&gt;game&lt;/b&gt;: difficulty by a&amp;b" in page
    assert not re.search(r"<script|src=|href=|url\(", page)
    assert '<tr class="outside"><td>0</td><td>0.25 (0.25 to 0.25)</td>' in page
    assert "<td>? (20 to ?)</td>" in page
    assert "win_rate below" in page
