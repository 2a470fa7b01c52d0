import hashlib
import json
from pathlib import Path

import pytest

from attract.commands.new import create_project
from attract.errors import ConfigurationError, GameError
from attract.games.library import GameLibrary
from attract.playtest.playwright_test import WEB, write_library
from attract.schema.game_messages import MethodSource

GAME = """import { defineGame, box, discrete } from "attract";
const reason: string = "boom";
export default defineGame({
  id: "Boom-v1", tickSeconds: 0.1, secondsPerStep: 0.1,
  observation: box({ shape: [1] }), action: discrete(2),
  create: () => ({ start: () => [0], update: () => { throw new Error(reason); } }),
});
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "games").mkdir(parents=True)
    (project / "games" / "boom.ts").write_text(GAME)
    return project


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """A built web side with one bundled game; esbuild and SDK are the repository's."""
    games = tmp_path / "web" / "games"
    games.mkdir(parents=True)
    (games / "pong.js").write_text("export default 1;\n//# sourceMappingURL=pong.js.map\n")
    (games / "pong.js.map").write_text('{"version": 3, "sources": ["pong.ts"], "mappings": "AAAA"}')
    (games / "games.json").write_text('[{"name": "pong", "title": "Pong!", "id": "Pong-v1"}]')
    return tmp_path / "web"


async def test_a_bundled_game_is_served_by_the_hash_of_exactly_what_is_served(project: Path, web: Path):
    library = GameLibrary(project, web)
    module = await library.resolve("pong")
    assert module.code == b"export default 1;\n"
    assert module.reference.sha256 == hashlib.sha256(module.code).hexdigest()
    assert module.reference.url == f"games/{module.reference.sha256}.js"
    assert module.source_map is not None
    assert library.by_hash(module.reference.sha256) is module


async def test_a_typescript_module_of_the_project_is_bundled_with_the_sdk(project: Path, web: Path):
    library = GameLibrary(project, web)
    module = await library.resolve("games/boom.ts")
    code = module.code.decode()
    assert "Boom-v1" in code
    assert 'from "attract"' not in code
    assert module.reference.sha256 == hashlib.sha256(module.code).hexdigest()
    lines = code.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "throw new Error(reason)" in text)
    column = lines[line - 1].index("new Error") + 1
    sha256 = module.reference.sha256
    stack = f"Error: boom\n    at update (http://127.0.0.1:1/games/{sha256}.js:{line}:{column})"
    # `new Error` stands in line 6, column 60 of the source above.
    assert GAME.splitlines()[5].index("new Error") + 1 == 60
    assert library.own_stack(sha256, stack, None) == "    at update (games/boom.ts:6:60)"
    begin = code.index("update: () => {") + len("update: ")
    method = MethodSource(name="update", text=code[begin : code.index("}", begin) + 1])
    place = GAME.splitlines()[5].index("() => { throw") + 1
    assert (
        library.own_stack(sha256, "    at ours.js:1:1", method) == f"    at update (games/boom.ts:6:{place})"
    )
    assert library.own_stack(sha256, None, None) is None


PAGE_GAME = """import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Hop-v1", page: "site/index.html", observation: box({ shape: [1] }),
  action: discrete(["wait"]), keys: { wait: [] },
  observe: () => [0], score: () => 0, over: () => false,
});
"""


async def test_an_adapter_is_bundled_with_the_page_sdk_and_its_folder_is_known(project: Path, web: Path):
    (project / "games" / "hop.page.ts").write_text(PAGE_GAME)
    library = GameLibrary(project, web)
    module = await library.resolve("games/hop.page.ts")
    assert module.reference.has_page
    assert b"definePageGame" in module.code
    assert library.page_files(module.reference.sha256[:32]) is not None
    assert "games/hop.page.ts" in [entry.name for entry in await library.entries()]
    plain = await library.resolve("games/boom.ts")
    assert not plain.reference.has_page
    assert library.page_files(plain.reference.sha256[:32]) is None


async def test_a_bundled_game_that_lives_in_a_page_lies_beside_it(project: Path, web: Path):
    folder = web / "page-games" / "hop"
    folder.mkdir(parents=True)
    (folder / "game.page.js").write_text("export default 2;\n")
    (folder / "game.train.yaml").write_text("seed: 5\n")
    library = GameLibrary(project, web)
    assert library.bundled_names() == ["hop", "pong"]
    module = await library.resolve("hop")
    assert (module.reference.name, module.reference.has_page) == ("hop", True)
    assert library.adapter_folder(module.reference) == folder
    assert library.recommended("hop") == {"seed": 5}


async def test_a_path_may_hold_an_equals_sign(project: Path, web: Path):
    (project / "games" / "speed=2").mkdir()
    (project / "games" / "speed=2" / "boom=1.ts").write_text(GAME)
    module = await GameLibrary(project, web).resolve("games/speed=2/boom=1.ts")
    assert b"Boom-v1" in module.code
    assert module.source_map is not None


async def test_the_same_source_gives_the_same_hash(project: Path, web: Path):
    first = await GameLibrary(project, web).resolve("games/boom.ts")
    second = await GameLibrary(project, web).resolve(str(project / "games" / "boom.ts"))
    assert first.reference.sha256 == second.reference.sha256


@pytest.mark.parametrize(
    "path",
    ["../secret.ts", "games/../../secret.ts", "/etc/hostname.ts", "link.ts", "folder/secret.ts"],
)
async def test_nothing_outside_the_project_directory_is_bundled(project: Path, web: Path, path: str):
    (project.parent / "secret.ts").write_text("export default 1;")
    (project / "link.ts").symlink_to(project.parent / "secret.ts")
    (project / "folder").symlink_to(project.parent)
    with pytest.raises(ConfigurationError, match="outside the project directory"):
        await GameLibrary(project, web).resolve(path)


async def test_a_game_may_not_import_what_is_outside_the_project(project: Path, web: Path):
    (project.parent / "secret.json").write_text('{"key": 1}')
    (project / "thief.ts").write_text('import secret from "../secret.json"; export default secret;')
    library = GameLibrary(project, web)
    with pytest.raises(ConfigurationError, match=r"secret\.json, outside"):
        await library.resolve("thief.ts")


async def test_a_list_of_files_that_vite_alone_makes_is_named_with_its_line(project: Path, web: Path):
    (project / "levels.ts").write_text(
        "// import.meta.glob(\n"
        "export const levels =\n"
        '  import.meta.glob<{ size: number }>("./levels/*.json");\n'
    )
    (project / "lists.ts").write_text('import { levels } from "./levels"; export default levels;\n')
    with pytest.raises(GameError) as refused:
        await GameLibrary(project, web).resolve("lists.ts")
    assert refused.value.text == (
        "lists.ts could not be bundled\n"
        "import.meta.glob is Vite's alone: import each file by its name, or build the game and train its "
        "page (attract train ./dist)\n\n"
        "    levels.ts:3:2:\n"
        '      import.meta.glob<{ size: number }>("./levels/*.json");'
    )
    # What a comment says, or what is not used, is no call.
    (project / "lists.ts").write_text('// import.meta.glob("x")\nimport "./levels"; export default 1;\n')
    (project / "levels.ts").write_text('const all = () => import.meta.glob("./levels/*.json");\n')
    await GameLibrary(project, web).resolve("lists.ts")


async def test_what_vite_puts_into_a_game_is_there(project: Path, web: Path):
    (project / "vite.ts").write_text("export default import.meta.env.DEV ? 'dev' : 'production';\n")
    code = (await GameLibrary(project, web).resolve("vite.ts")).code.decode()
    assert "import.meta.env.DEV" not in code
    assert "DEV: false" in code or '"production"' in code


async def test_an_import_from_beside_names_the_folder_that_would_do(project: Path, web: Path):
    (project / "src dir").mkdir()
    (project / "src dir" / "rules.ts").write_text("export const reason = 'rules';\nthrow reason;\n")
    (project / "games" / "g.ts").write_text(
        'import { reason } from "../src dir/rules"; export default reason;'
    )
    with pytest.raises(ConfigurationError) as caught:
        await GameLibrary(project / "games", web).resolve("g.ts")
    assert caught.value.fix == f"move it there, or choose a wider one: --project-dir {project}"
    module = await GameLibrary(project, web).resolve(str(project / "games" / "g.ts"))
    assert module.source_map is not None
    assert json.loads(module.source_map)["sources"] == ["src dir/rules.ts", "games/g.ts"]


@pytest.mark.parametrize("given", ["own.ts", "absolute"])
async def test_n14_sources_are_named_from_the_project(project: Path, given: str):
    """As an editor that has the project open takes them, however the game was named."""
    own = project / "own.ts"
    own.write_text('import { box } from "attract"; export default [box];')
    module = await GameLibrary(project).resolve(given if given != "absolute" else str(own))
    assert module.source_map is not None
    assert json.loads(module.source_map)["sources"] == ["sdk/attract.js", "own.ts"]


async def test_a_module_that_cannot_be_bundled_says_where_and_why(project: Path, web: Path):
    (project / "bad.ts").write_text("export default defineGame({ id: \n")
    with pytest.raises(GameError, match=r"bad\.ts:2:0"):
        await GameLibrary(project, web).resolve("bad.ts")


async def test_an_unknown_name_suggests_the_nearest(project: Path, web: Path):
    with pytest.raises(ConfigurationError, match="did you mean 'pong'"):
        await GameLibrary(project, web).resolve("pogn")


@pytest.mark.parametrize("given", ["games\\boom.ts", "boom.ts"])
async def test_a_file_that_is_not_there_names_what_is(given: str, project: Path, web: Path):
    with pytest.raises(ConfigurationError, match="there is no file") as refused:
        await GameLibrary(project, web).resolve(given)
    assert refused.value.fix is not None and refused.value.fix.endswith(" games/boom.ts")


async def test_of_a_new_project_its_game_alone_is_listed(project: Path, web: Path):
    create_project(project / "my-game", "pure")
    # As `attract export --page` leaves it, under whatever name.
    show = project / "my-game" / "show"
    show.mkdir()
    (show / "policy.json").write_text("{}")
    (show / "game.js").write_text(GAME)
    names = {entry.name for entry in await GameLibrary(project, web).entries()}
    assert names == {"pong", "games/boom.ts", "my-game/src/game.ts"}


async def test_n4_what_ci_and_exports_write_is_no_game(project: Path, web: Path):
    """Bundles with our SDK have the words of its messages: `write export default defineGame({ ... })`."""
    findings = project / "any-name"
    findings.mkdir()
    write_library(findings, None)
    for name in ("exported-page", "exported-episode"):
        (findings / f"{name}.js").write_bytes((WEB / name / "page.js").read_bytes())
    names = {entry.name for entry in await GameLibrary(project, web).entries()}
    assert names == {"pong", "games/boom.ts"}


async def test_a_folder_of_a_project_says_which_module_is_its_game(project: Path, web: Path):
    create_project(project / "my-game", "pure")
    create_project(project / "my-page", "page")
    library = GameLibrary(project, web)
    for folder, game in (("my-game", "my-game/src/game.ts"), ("my-page", "my-page/game.page.ts")):
        with pytest.raises(ConfigurationError, match=f"{folder} is a folder, not a game") as refused:
            await library.resolve(folder)
        assert refused.value.fix == f"name the game in it: {game}"


async def test_a_page_without_an_adapter_says_what_is_missing(project: Path, web: Path):
    (project / "dist").mkdir()
    (project / "dist" / "index.html").write_text("<!doctype html>")
    for game in ("dist/index.html", "dist", "http://localhost:5173"):
        with pytest.raises(ConfigurationError, match="is a page") as caught:
            await GameLibrary(project, web).resolve(game)
        assert "game.page.ts" in str(caught.value.fix)


@pytest.mark.parametrize("name", ["../web/games/pong", "./pong", "pong.js"])
async def test_a_bundled_name_is_a_name_and_no_path(project: Path, web: Path, name: str):
    with pytest.raises(ConfigurationError):
        await GameLibrary(project, web).resolve(name)


async def test_entries_list_bundled_games_and_the_projects_own_even_broken_ones(project: Path, web: Path):
    (project / "bad.ts").write_text("export default defineGame({ id: \n")
    (project / "plain.ts").write_text("export const x = 1;")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "dep.ts").write_text(GAME)
    entries = {entry.name: entry for entry in await GameLibrary(project, web).entries()}
    assert set(entries) == {"pong", "bad.ts", "games/boom.ts"}
    assert (entries["pong"].title, entries["pong"].bundled) == ("Pong!", True)
    assert entries["games/boom.ts"].reference is not None
    assert entries["bad.ts"].reference is None
    assert "bad.ts:2" in (entries["bad.ts"].error or "")


@pytest.mark.parametrize(
    ("game", "title"),
    [
        ("pong", "Pong!"),
        ("games/space_war-2.ts", "Space War 2"),
        ("src/game.ts", "My Tennis"),
        ("tennis/source/lib/index.page.ts", "Tennis"),
        ("game.ts", "My Tennis"),
        ("/elsewhere/checkers/main.js", "Checkers"),
        ("/game.js", "Game"),
    ],
)
def test_a_file_that_is_called_as_any_is_titled_by_its_folder(
    game: str, title: str, tmp_path: Path, web: Path
):
    assert GameLibrary(tmp_path / "my-tennis", web_dir=web).title_of(game) == title


async def test_a_module_kept_by_a_run_is_served_again(project: Path, web: Path):
    library = GameLibrary(project, web)
    module = library.keep("old", b"export default 2;\n", json.dumps({"version": 3}).encode())
    assert library.by_hash(module.reference.sha256) is module
    frame = f"    at games/{module.reference.sha256}.js:1:1"
    assert library.own_stack(module.reference.sha256, frame, None) == frame


async def test_what_cannot_be_bundled_says_what_a_game_can_do_about_it(project: Path, web: Path):
    (project / "bad.ts").write_text(
        'import a from "@scope/nowhere/deep";\nimport b from "fs";\nimport c from "./gone";\n'
        "export default a + b + c;"
    )
    with pytest.raises(GameError) as caught:
        await GameLibrary(project, web).resolve("bad.ts")
    text = caught.value.text
    assert "bad.ts:1:14:" in text
    assert "npm install @scope/nowhere" in text
    assert "Node's own modules are missing" in text
    assert 'Could not resolve "./gone"' in text
    assert "external" not in text
    assert "--platform" not in text
