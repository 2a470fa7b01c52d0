"""Writes what the site has of the code: the pages of `docs/reference/`, and the agent on the first page."""

import html
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attract.cli import app
from attract.commands.export import write_page
from attract.settings.schema import run_settings_schema, setting_paths

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
WEB = ROOT / "backend" / "attract" / "web"
TYPES = WEB / "sdk" / "src" / "contract.ts"
AGENT = DOCS / "public" / "agent"
"""A policy for Lander: `attract train lander --until-return 240 --seed 1`."""
COLUMNS = "100"
MOST = 1 << 53
"""Limits from there on are those of the format."""


def commands() -> str:
    """What `--help` says, command by command."""
    names = sorted(name for name in app.resolved_commands() if not name.startswith("-"))
    parts = ["# Every command\n\nWhat `attract COMMAND --help` says.\n"]
    for name in names:
        said = subprocess.run(
            [sys.executable, "-m", "attract", name, "--help"],
            env={**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        parts.append(f"## attract {name}\n\n```text\n{said.strip()}\n```\n")
    return "\n".join(parts)


def settings() -> str:
    """Each setting with its default and limits, section by section."""
    parts = [
        "# Every setting\n",
        "As a flag (`--ppo.gamma 0.95`), a variable (`ATTRACT_PPO_GAMMA`) or in a file beside the game "
        "([where settings come from](../configuration.md)). `none` unsets one that may be unset.\n",
    ]
    sections: dict[str, list[str]] = {}
    for path, part in setting_paths(run_settings_schema()):
        cells = (_value(part), _kind(part), str(part.get("description", "")))
        row = " | ".join([f"`{path}`", *map(_cell, cells)])
        sections.setdefault(path.rpartition(".")[0], []).append(f"| {row} |")
    for section, rows in sections.items():
        parts.append(f"\n## {section or 'The run'}\n")
        parts.append("| Setting | Default | May be | What it does |\n|---|---|---|---|")
        parts += rows
    return "\n".join(parts) + "\n"


def game() -> str:
    """The contract of a game, as the SDK's source has it."""
    return (
        "# Types of a game\n\nWhat a game is and returns, from the SDK's source "
        f"([with examples](../games.md)).\n\n```ts\n{TYPES.read_text(encoding='utf-8').strip()}\n```\n"
    )


def protocol() -> str:
    """What crosses the wire."""
    return (ROOT / "shared_schema" / "PROTOCOL.md").read_text(encoding="utf-8")


def _value(part: Mapping[str, Any]) -> str:
    """Its default as it is written in a file."""
    if "default" not in part:
        return "given by you"
    default = part["default"]
    return "none" if default is None else default if isinstance(default, str) else json.dumps(default)


def _kind(part: Mapping[str, Any]) -> str:
    """What a value may be, in a few words."""
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_kind(one) for one in part["anyOf"]))
    if "enum" in part:
        return ", ".join(str(one) for one in part["enum"])
    if "const" in part:
        return str(part["const"])
    kind = {
        "null": "none",
        "number": "a number",
        "integer": "a whole number",
        "boolean": "true or false",
        "array": "a list",
        "object": "a mapping",
    }
    words = kind.get(str(part.get("type")), "text")
    limits = [
        f"{sign} {part[name]}"
        for name, sign in (
            ("minimum", "from"),
            ("exclusiveMinimum", "above"),
            ("maximum", "to"),
            ("exclusiveMaximum", "below"),
        )
        if name in part and abs(part[name]) < MOST
    ]
    return " ".join([words, *limits])


def _cell(text: str) -> str:
    """Text that neither ends a table's cell nor is read as a tag or a template."""
    flat = " ".join(text.split()).replace("|", "\\|")
    return html.escape(flat, quote=False).replace("{{", "&#123;&#123;")


def main() -> None:
    """Write all of them."""
    folder = DOCS / "reference"
    folder.mkdir(exist_ok=True)
    pages = {"commands": commands, "settings": settings, "game": game, "protocol": protocol}
    for name, write in pages.items():
        (folder / f"{name}.md").write_text(write(), encoding="utf-8")
    shutil.copyfile(ROOT / "web" / "dashboard" / "src" / "icon.svg", DOCS / "public" / "icon.svg")
    write_page(AGENT, WEB / "games" / "lander.js", "Lander")


if __name__ == "__main__":
    main()
