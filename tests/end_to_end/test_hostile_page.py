"""Pages that hang, throw, leave, ask for help and hoard: each is contained and named; training goes on."""

from pathlib import Path

import pytest

from attract_command import run_attract

PAGE = """<!doctype html><body><script>
let ticks = 0, over = false, life = 0;
// Which thread this is: those that come after have larger numbers.
const thread = Number.parseInt(location.hostname.slice(1), 10);
function begin() { ticks = 0; over = false; }
function frame() {
  life++;
  if (++ticks > 60) over = true;
  MISCHIEF
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
window.look = () => ({ ticks, over });
</script>"""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Hostile-v1", page: "index.html", observation: box({ shape: [1] }),
  action: discrete(["a", "b"]), keys: { a: [], b: ["Space"] },
  restart: (w) => w.begin(), observe: (w) => [w.look().ticks / 60],
  score: (w) => w.look().ticks / 60, over: (w) => w.look().over,
});
"""
MISCHIEF = {
    "throw": 'if (life === 4000) throw new Error("lost my way");',
    "leave": 'if (life === 4000) location.href = "https://elsewhere.example/?" + life;',
    "reload": "if (life === 1000) location.reload();",
    "hang": "if (thread <= 2 && life > 1000) for (;;);",
    "boxes": 'alert("x"); confirm("x"); prompt("x"); open("https://elsewhere.example"); print();',
    "hoard": "(window.kept ??= []).push(new Float64Array(1000).fill(life));",
    "others": 'fetch("https://elsewhere.example").catch(() => 0); new WebSocket("wss://elsewhere.example");',
    "parent": "try { top.document.title = life; } catch {} try { parent.parent.name = life; } catch {}",
}
NAMED = {
    "throw": "lost my way",
    "leave": "the page went to another address",
    "hang": "the game does not return from",
}


# Nothing is said of these: one page does them all, and each alone is left to `make long`.
MISCHIEF["quietly"] = " ".join(f"{{ {code} }}" for kind, code in MISCHIEF.items() if kind not in NAMED)
LONG = {"quietly", "throw", "leave", "reload", "boxes", "hoard", "others", "parent"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] if kind in LONG else []) for kind in MISCHIEF]
)
def test_training_goes_on_and_says_what_happened(kind: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE.replace("MISCHIEF", MISCHIEF[kind]))
    (tmp_path / "hostile.page.ts").write_text(ADAPTER)
    # These come after some time only. One worker: each that hangs keeps a core busy until it is ended.
    steps = "40000" if kind in ("throw", "leave") else "12000"
    words = ("train", "hostile.page.ts", "--headless", "--workers", "1", "--total-steps", steps, "--no-check")
    result = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path, has_own_browser=True)
    said = result.stdout + result.stderr
    assert result.code == 0, said
    assert "finished:" in said
    assert NAMED.get(kind, "") in said
    assert kind in NAMED or "the game failed" not in said


# `make test` tries every way out of a page in test_page_escape.py.
@pytest.mark.long
@pytest.mark.parametrize("address", ["https://elsewhere.example/?a=1", "/other.html"])
def test_a_page_cannot_replace_the_tab_that_probes_it(address: str, tmp_path: Path) -> None:
    leaving = f'setTimeout(() => {{ top.location = "{address}"; }}, 300)'
    (tmp_path / "index.html").write_text(PAGE.replace("MISCHIEF", f"if (life === 1) {leaving};"))
    (tmp_path / "other.html").write_text("<!doctype html>another")
    result = run_attract("probe", str(tmp_path), runs_dir=tmp_path / "runs", folder=tmp_path)
    # The policy of the game's origin keeps it in its frame.
    assert result.code == 0, result.stderr
    assert (tmp_path / "game.page.ts").exists()


def test_probing_a_page_that_goes_elsewhere_says_so(tmp_path: Path) -> None:
    # By a timer of another frame, which the page's clock does not hold.
    leaving = """
      const other = document.body.appendChild(document.createElement("iframe"));
      other.contentWindow.setTimeout(() => { location.href = "https://elsewhere.example/"; }, 5);"""
    (tmp_path / "index.html").write_text(PAGE.replace("MISCHIEF", f"if (life === 1) {{ {leaving} }}"))
    result = run_attract("probe", str(tmp_path), runs_dir=tmp_path / "runs", folder=tmp_path)
    assert result.code == 2, result.stderr
    (line,) = result.stderr.splitlines()
    assert line.endswith(
        "the page could not be probed: the page went to another address: it no longer plays the game; "
        "remove the code that navigates, or use the page that it goes to"
    )
    assert not (tmp_path / "game.page.ts").exists()
