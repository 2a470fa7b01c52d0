"""Layout of `--help`: commands in groups, examples first, all settings only with `--help-all`."""

import sys
from typing import TYPE_CHECKING, Any, Final

from cyclopts import Group
from cyclopts.help import DefaultFormatter
from rich.text import Text
from typing_extensions import override

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

HELP_ALL: Final = "--help-all"
EVERY_SETTING: Final = f"{HELP_ALL} also shows every setting."
"""Last line of the help of commands that take settings."""

BEGIN: Final = Group("Begin", sort_key=1)
TRAIN: Final = Group("Train", sort_key=2)
LOOK: Final = Group("Look", sort_key=3)
SHIP: Final = Group("Ship", sort_key=4)
OPERATE: Final = Group("Operate", sort_key=5)
MEASURE: Final = Group("Measure", sort_key=6)
OPTIONS: Final = Group("Options", sort_key=7)

EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "": (
        ("attract train cartpole --until-return 475", "start here: a bundled game, learned in seconds"),
        ("attract new my-game", "then your own game"),
        ("attract serve", "everything in the browser"),
    ),
    "new": (
        ("attract new my-game", "cells and a few actions"),
        ("attract new hover --template physics", "forces and continuous actions"),
        ("attract new rebound --template page", "a game in a page"),
    ),
    "check": (
        ("attract check src/game.ts", "your own game"),
        ("attract check snake --json", "a bundled game, for scripts"),
        ("attract check src/game.ts --save checked", "keep the episodes in which it failed"),
    ),
    "ci": (
        ("attract ci src/game.ts", "what is wrong with this build"),
        ("attract ci src/game.ts --update-baseline", "this build plays well: compare later ones with it"),
        ("attract ci src/game.ts --policy latest", "a trained agent plays, too"),
    ),
    "difficulty": (
        ("attract difficulty snake --over size=6:20:5", "how hard each size of the board is"),
        ("attract difficulty snake --over size=8,9 --policy latest", "by a trained agent"),
        ("attract difficulty snake --over size=6:20:5 --bands bands.yaml", "exit code 1 outside a band"),
    ),
    "look": (
        ("attract look dist --press Enter@10 --hold ArrowLeft@60-90", "what a key moves"),
        ("attract look dist --eval 'w.game?.score' --png page.png", "a value, and a picture"),
        ("attract look game.page.ts --action left@0-60 --json", "each step, as an adapter has it"),
    ),
    "probe": (
        ("attract probe dist", "a build folder"),
        ("attract probe http://localhost:5173", "a development server"),
        ("attract probe dist --size 400 600 --force", "another window size; replaces the adapter"),
    ),
    "skill": (
        ("attract skill", "to read"),
        ("attract skill > SKILL.md", "beside a game"),
        ("attract skill > .claude/skills/attract/SKILL.md", "where a coding agent looks for skills"),
    ),
    "doctor": (
        ("attract doctor", "what is missing on this machine"),
        ("attract doctor || exit 1", "in a script"),
        ("attract doctor > doctor.txt", "for an issue"),
    ),
    "train": (
        ("attract train cartpole --until-return 475", "until it is good enough"),
        ("attract train src/game.ts --total-steps 200000", "your own game"),
        ("attract train --resume --run-id latest --total-steps 500000", "continue a run"),
    ),
    "tune": (
        ("attract tune src/game.ts --minutes 10", "a short search"),
        ("attract tune cartpole --until-return 475 --total-steps 300000", "settings that reach a goal first"),
        ("attract tune src/game.ts --trials 40 --out tuned.yaml", "a longer search, into a file"),
    ),
    "imitate": (
        ("attract imitate keydoor", "from what the dashboard recorded"),
        ("attract imitate keydoor --from episodes", "from a folder"),
        ("attract imitate keydoor --run-id copy --epochs 500", "another name, fewer passes"),
    ),
    "cluster": (
        ("attract cluster cartpole --cells 2 --workers 4", "two ranks that train together"),
        ("attract cluster snake --hosts 8 --workers 2", "browsers on all nodes"),
        ("attract cluster snake --address local", "only on this machine"),
    ),
    "serve": (
        ("attract serve", "for this machine"),
        ("attract serve --lan", "also for phones in your network"),
        ("attract serve --port 9000 --runs-dir old-runs", "other runs, another port"),
    ),
    "runs": (
        ("attract runs", "the newest runs"),
        ('attract runs "game:snake return>20" --sort -return', "the best of one game"),
        ('attract runs "lr<0.001 is:all" --json', "by a setting, for scripts"),
    ),
    "metrics": (
        ("attract metrics latest", "first, last, lowest and highest of each"),
        ("attract metrics latest rollout/ep_rew_mean --points 50", "how it went"),
        ("attract metrics latest 'rollout/*' --json", "for scripts and coding agents"),
    ),
    "eval": (
        ("attract eval latest", "the newest run"),
        ("attract eval latest --version first --episodes 20 --seed 7", "how it began, other episodes"),
        ("attract eval latest --json", "for scripts"),
    ),
    "replay": (
        ("attract replay latest --worst", "the worst episode of the newest run"),
        ("attract replay episode.json --game game.ts", "in another build of its game"),
        ("attract replay episodes --json", "every file of a folder, for scripts"),
    ),
    "export": (
        ("attract export latest --out policy --format js", "for a page, without ONNX Runtime"),
        ("attract export latest --out policy", "only policy.onnx and policy.json"),
        ("attract export latest --out site --page", "a complete page"),
    ),
    "report": (
        ("attract report latest", "the newest run"),
        ("attract report latest --out trouble.zip", "into this file"),
        ("attract report latest --runs-dir old-runs", "from another folder"),
    ),
    "join": (
        ("attract join 'http://192.168.0.2:8000/join.html#token=...'", "the link that the trainer printed"),
        ("attract join - --workers 4 < link.txt", "without the token in the process list"),
        ("attract join http://trainer:8000 --until-gone 60", "token from a variable; gives up after 60 s"),
    ),
    "health": (
        ("attract health", "the trainer on this machine"),
        ("attract health http://127.0.0.1:9000", "another port"),
        ("attract health || exit 1", "in a script"),
    ),
    "rollback": (
        ("attract rollback latest --to-version 40", "set aside all versions after 40"),
        ("attract rollback latest --to-version 40 --runs-dir old-runs", "in another folder"),
        ("attract train --resume --run-id latest", "continue from there"),
    ),
    "bench": (
        ("attract bench --list", "what can be measured"),
        ("attract bench --only play", "one figure"),
        ("attract bench --compare before.json", "what got slower"),
    ),
    "results": (
        ("attract results --only cartpole", "one game"),
        ("attract results --suite defaults --scale 0.1", "a quick try of the plain games"),
        ("attract results --suite pages --out pages.md", "games in a page"),
    ),
}
"""Examples by command, each with a remark; "": those of `attract` itself."""


class Layout(DefaultFormatter):
    """A command's description, three examples, then its parameters."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    @override
    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        super().render_description(console, options, description)
        width = max(len(command) for command, _remark in EXAMPLES[self._name])
        console.print(Text("Examples:", style="bold"))
        for command, remark in EXAMPLES[self._name]:
            line = Text(f"  {command:<{width}}")
            line.append(f"  # {remark}", style="dim")
            console.print(line, soft_wrap=True)
        console.print()


class SettingsLayout(DefaultFormatter):
    """A group of settings, which only `--help-all` shows."""

    @override
    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        if HELP_ALL in sys.argv:
            super().__call__(console, options, panel)
