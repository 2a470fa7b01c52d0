"""Writes what is made of the pydantic models: schema, types, validators, golden frames, a table of the docs.

`python shared_schema/generate.py` writes the files; with `--check` it only names those that are not current
and exits 1.
"""

import ast
import inspect
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bounds import write_bounds
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from attract.browser.chromium import PACKAGE_HOSTS
from attract.commands.flags import flag_help
from attract.commands.setting_flags import SERVED_FLAGS
from attract.playtest.project_file import CrowdName
from attract.playtest.report import ORACLES
from attract.playtest.rules import THRESHOLDS
from attract.schema import (
    CONTRACT_VERSION,
    PROTOCOL_VERSION,
    access,
    api,
    close_codes,
    look,
    match,
    messages,
    metrics,
    probe,
    recorded_episode,
    run_list,
    step_numbers,
    studies,
)
from attract.schema.devices import DEVICES, PAD_BUTTONS, PAD_STICKS, POINTER_INPUTS
from attract.schema.frames import encode
from attract.server.page_games import GAME_POLICY
from attract.settings.run import SERVER_VARIABLES, ServerSettings, server_default
from attract.settings.variables import OTHER_VARIABLES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GOLDEN = Path("shared_schema/golden")
CONFIGURATION = Path("docs/configuration.md")
ADAPTER = Path("docs/adapter.md")
TABLE_BEGINS = "<!-- Written by shared_schema/generate.py from the settings: edit those. -->\n"
INPUTS_BEGIN = "<!-- Written by shared_schema/generate.py from schema/devices.py: edit that. -->\n"
TABLE_ENDS = "<!-- End. -->\n"
UNIONS = ("FromHost", "FromWorker", "ToHost", "ToWorker", "FromBrowser", "ToBrowser")


def main(arguments: list[str]) -> int:
    """Generates into a temporary folder, then compares or installs; the exit code."""
    with tempfile.TemporaryDirectory(prefix="attract-schema-") as name:
        generate(Path(name))
        made = files_under(Path(name))
    stale, orphans = differences(made, ROOT)
    if "--check" in arguments:
        for path in stale:
            print(f"not current: {path}", file=sys.stderr)
        for path in orphans:
            print(f"nothing makes: {path}", file=sys.stderr)
        if stale or orphans:
            print("fix it with: .venv/bin/python shared_schema/generate.py", file=sys.stderr)
        return 1 if stale or orphans else 0
    for path in stale:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(made[path])
        print(f"wrote {path}")
    for path in orphans:
        (ROOT / path).unlink()
        print(f"removed {path}")
    return 0


def files_under(folder: Path) -> dict[Path, bytes]:
    """Relative path to content of every file under `folder`, sorted."""
    return {
        path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def differences(made: dict[Path, bytes], root: Path) -> tuple[list[Path], list[Path]]:
    """Outdated files under `root`, and golden files without a generator; both relative and sorted."""
    stale = [path for path, content in made.items() if _content(root / path) != content]
    found = files_under(root / GOLDEN)
    return stale, [GOLDEN / path for path in found if GOLDEN / path not in made]


def generate(out: Path) -> None:
    """Writes every generated file under `out`, at its path in the repository."""
    schema_dir = out / "shared_schema"
    (schema_dir / "golden" / "server").mkdir(parents=True)
    (schema_dir / "golden" / "browser").mkdir()
    (out / "web" / "schema" / "src").mkdir(parents=True)
    (out / "web" / "sdk" / "src").mkdir(parents=True)
    (out / CONFIGURATION).parent.mkdir()
    (out / CONFIGURATION).write_text(with_variables((ROOT / CONFIGURATION).read_text()))
    (out / ADAPTER).write_text(with_inputs((ROOT / ADAPTER).read_text()))
    _write_json(schema_dir / "messages.schema.json", messages_schema())
    _write_json(schema_dir / "api.schema.json", api_schema())
    _write_versions(out / "web" / "schema" / "src" / "versions.gen.ts")
    _write_step_numbers(out / "web" / "schema" / "src" / "step-numbers.gen.ts")
    write_bounds(out / "web" / "sdk" / "src" / "bounds.gen.ts")
    _write_page_inputs(out / "web" / "sdk" / "src" / "page-inputs.gen.ts")
    _write_config(out / "web" / "sdk" / "src" / "config.gen.ts")
    _write_close_codes(out / "web" / "schema" / "src" / "close-codes.gen.ts")
    (out / "web" / "page-clock" / "src").mkdir(parents=True)
    _write_page_policy(out / "web" / "page-clock" / "src" / "page-policy.gen.ts")
    _write_devices(out / "web" / "page-clock" / "src" / "devices.gen.ts")
    for stem, message in golden_messages().items():
        (schema_dir / "golden" / "server" / f"{stem}.bin").write_bytes(encode(message))
        _write_json(schema_dir / "golden" / f"{stem}.json", readable(message.model_dump()))
    subprocess.run(["node", str(HERE / "generate.mjs"), str(out)], check=True, cwd=ROOT)


def golden_messages() -> dict[str, Any]:
    """File stem to message, from `golden.py` beside this file."""
    sys.path.insert(0, str(HERE))
    from golden import GOLDEN

    return GOLDEN


def readable(value: Any) -> Any:
    """Plain JSON for a dumped message; bytes become `{"$bytes": hex}`."""
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    return value


def messages_schema() -> dict[str, Any]:
    """JSON Schema of every websocket message; `$defs` holds them and the unions by direction."""
    defs: dict[str, Any] = {}
    for union in UNIONS:
        schema = TypeAdapter(getattr(messages, union)).json_schema(mode="serialization")
        defs.update(schema.pop("$defs"))
        defs[union] = {"description": f"Any message of direction {union}.", **schema}
    return _finish("Attract websocket messages", defs, _models_of(messages))


def api_schema() -> dict[str, Any]:
    """JSON Schema of what the HTTP API and `attract look --json` or `attract probe --json` say and take."""
    modules = (
        api,
        access,
        look,
        match,
        metrics,
        probe,
        recorded_episode,
        run_list,
        studies,
    )
    known = [model for module in modules for model in _models_of(module)]
    models = [model for model in known if model.__module__ in [module.__name__ for module in modules]]
    _, schema = models_json_schema([(model, "serialization") for model in models])
    return _finish("Attract HTTP API", schema["$defs"], known)


def _finish(title: str, defs: dict[str, Any], models: list[type[BaseModel]]) -> dict[str, Any]:
    _strip(defs)
    for model in models:
        for field, text in _attribute_docstrings(model).items():
            if model.__name__ in defs:
                _describe(defs[model.__name__]["properties"][field], text)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "$comment": "Generated by shared_schema/generate.py; do not edit.",
        "$defs": {name: defs[name] for name in sorted(defs)},
    }


def _strip(node: Any) -> None:
    """Drops what ajv and the TypeScript generator would choke on: discriminator mappings and field titles."""
    if isinstance(node, dict):
        discriminator = node.get("discriminator")
        if isinstance(discriminator, dict):
            discriminator.pop("mapping", None)
        if isinstance(node.get("title"), str):
            del node["title"]
        if "$ref" in node:
            node.pop("default", None)
        for value in node.values():
            _strip(value)
    elif isinstance(node, list):
        for value in node:
            _strip(value)


def _describe(schema: dict[str, Any], text: str) -> None:
    if "$ref" in schema:  # draft 7 ignores what stands beside a reference
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    schema["description"] = text


def _models_of(module: Any) -> list[type[BaseModel]]:
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.model_fields
    ]
    return sorted(found, key=lambda model: model.__name__)


def _attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Field name to the string literal that stands under it in the source."""
    body = ast.parse(inspect.cleandoc("\n" + inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            texts[field.target.id] = inspect.cleandoc(below.value.value)
    return texts


def _write_close_codes(path: Path) -> None:
    lines = ["/** Websocket close codes; generated by shared_schema/generate.py, do not edit. */"]
    for name, value in vars(close_codes).items():
        if name.isupper() and isinstance(value, int):
            lines.append(f"export const {name} = {value};")
    retry = ", ".join(str(code) for code in sorted(close_codes.RETRY))
    lines.append("/** Codes after which a client reconnects with back-off; after any other it stays away. */")
    lines.append(f"export const RETRY: ReadonlySet<number> = new Set([{retry}]);")
    path.write_text("\n".join(lines) + "\n")


def _write_page_policy(path: Path) -> None:
    hosts = "".join(f"  {json.dumps(host)},\n" for host in PACKAGE_HOSTS)
    path.write_text(
        "/** Generated by shared_schema/generate.py; do not edit. */\n"
        "/** Servers of published packages: all that a page reaches beside its own. */\n"
        f"export const PACKAGE_HOSTS: readonly string[] = [\n{hosts}];\n"
        "/** Content-Security-Policy of every answer that a page game gets. */\n"
        f"export const GAME_POLICY =\n  {json.dumps(GAME_POLICY.format(owners='').strip())};\n"
    )


def _write_devices(path: Path) -> None:
    rows = "".join(
        f"  {json.dumps(name)}: {{\n"
        f"    size: {json.dumps(device.size)},\n"
        f"    pixelRatio: {device.pixel_ratio},\n"
        f"    touch: {json.dumps(device.touch)},\n"
        f"    userAgent:{_spaced(json.dumps(device.user_agent))},\n"
        "  },\n"
        for name, device in DEVICES.items()
    )
    path.write_text(
        "/** Generated by shared_schema/generate.py; do not edit. */\n"
        f"export type DeviceName = {' | '.join(map(json.dumps, DEVICES))};\n"
        "export interface Device {\n"
        "  /** Width and height of the window in CSS pixels; null: given elsewhere. */\n"
        "  readonly size: readonly [width: number, height: number] | null;\n"
        "  readonly pixelRatio: number;\n"
        "  /** Whether the pointer is a finger; such a device can be turned. */\n"
        "  readonly touch: boolean;\n"
        "  /** Null: the browser's own. */\n"
        "  readonly userAgent: string | null;\n"
        "}\n"
        f"export const DEVICES: Readonly<Record<DeviceName, Device>> = {{\n{rows}}};\n"
    )


def _spaced(text: str) -> str:
    """A long value on a line of its own, as the formatter has it."""
    return f" {text}" if len(text) < 60 else f"\n      {text}"


def _write_config(path: Path) -> None:
    rows = ""
    for oracle in ORACLES:
        names = "".join(f"readonly {name}?: number; " for name in THRESHOLDS.get(oracle, {}))
        rows += f"  {json.dumps(oracle)}: {f'{{ {names}}}' if names else 'Record<string, never>'};\n"
    path.write_text(
        "/** Generated by shared_schema/generate.py; do not edit. */\n"
        "/** Oracles of `attract ci`, and the thresholds that each has. */\n"
        f"export interface OracleThresholds {{\n{rows}}}\n"
        f"export type DeviceName = {' | '.join(map(json.dumps, DEVICES))};\n"
        f"export type CrowdName = {' | '.join(map(json.dumps, CrowdName.__args__))};\n"
    )


def _write_versions(path: Path) -> None:
    path.write_text(
        "/** Generated by shared_schema/generate.py; do not edit. */\n"
        f"export const PROTOCOL_VERSION = {PROTOCOL_VERSION};\n"
        f"export const CONTRACT_VERSION = {CONTRACT_VERSION};\n"
    )


def _write_step_numbers(path: Path) -> None:
    lines = ["/** Generated by shared_schema/generate.py; do not edit. */"]
    tables = {
        "DECIDED_NUMBERS": ("What a policy says of each action", step_numbers.DECIDED_NUMBERS),
        "OUTCOME_NUMBERS": ("What a game says of each step", step_numbers.OUTCOME_NUMBERS),
        "STEP_NUMBERS": ("Every number that each step has one of for each agent", step_numbers.STEP_NUMBERS),
    }
    for name, (text, table) in tables.items():
        rows = "".join(f'  {number}: "{dtype}",\n' for number, dtype in table.items())
        lines.append(f"/** {text}: name to dtype; `bool` travels as uint8. */")
        lines.append(f"export const {name} = {{\n{rows}}} as const;")
    path.write_text("\n".join(lines) + "\n")


def _write_page_inputs(path: Path) -> None:
    rows = ""
    for name, row in POINTER_INPUTS.items():
        fields = asdict(row)
        del fields["does"]
        rows += f"  {json.dumps(name)}: {json.dumps(fields)},\n"
    path.write_text(
        "/** Generated by shared_schema/generate.py; do not edit. */\n"
        "/** What the pointer may do at a place: see `attract/schema/devices.py`. */\n"
        f"export const POINTER_INPUTS = {{\n{rows}}} as const;\n"
        "/** Codes of a gamepad's buttons, in the order of the standard layout. */\n"
        f"export const PAD_BUTTONS: readonly string[] = {json.dumps(PAD_BUTTONS)};\n"
        "/** Codes of its sticks: of each axis the low end and the high one. */\n"
        f"export const PAD_STICKS: readonly string[] = {json.dumps(PAD_STICKS)};\n"
    )


def with_inputs(page: str) -> str:
    """The page of adapters with its table of what the pointer does generated."""
    rows = [("`how`", "The pointer"), ("---", "---")]
    rows += [(f'`"{name}"`', row.does) for name, row in POINTER_INPUTS.items()]
    return _with_table(page, INPUTS_BEGIN, rows)


def with_variables(page: str) -> str:
    """The page of configuration with its table of the server's variables generated."""
    rows = [("Variable", "Means", "By default", "Flag that wins over it"), ("---",) * 4]
    for name, setting in SERVER_VARIABLES.items():
        means = flag_help(ServerSettings.model_fields[setting])
        has_flag = setting in (*SERVED_FLAGS, "host", "port", "runs_dir", "project_dir")
        flag = f"`--{setting.replace('_', '-')}`" if has_flag else ""
        rows.append((f"`{name}`", means, server_default(setting) or "", flag))
    rows += [(f"`{name}`", means, "", "") for name, means in OTHER_VARIABLES.items()]
    return _with_table(page, TABLE_BEGINS, rows)


def _with_table(page: str, begins: str, rows: list[tuple[str, ...]]) -> str:
    before, _, rest = page.partition(begins)
    _, _, after = rest.partition(TABLE_ENDS)
    table = "".join(f"| {' | '.join(cells)} |\n".replace("  |", " |") for cells in rows)
    return f"{before}{begins}\n{table}\n{TABLE_ENDS}{after}"


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
