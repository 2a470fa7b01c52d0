from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.server.tokens import check_token, chosen_tokens, read_token
from attract.settings.run import ServerSettings

TOKEN = "a-token-of-ones-own-choice"


def file_with(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_scale_07_tokens_come_from_files_or_from_texts(tmp_path: Path):
    given = {
        "admin_token_file": file_with(tmp_path, f"{TOKEN}\n"),
        "worker_token": "another-token-of-a-fleet",
    }
    chosen = chosen_tokens(ServerSettings.from_mapping(given))
    assert chosen == {"admin": TOKEN, "worker": "another-token-of-a-fleet"}
    assert chosen_tokens(ServerSettings()) == {}


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602])
def test_a_file_that_everybody_may_read_is_refused(tmp_path: Path, mode: int):
    with pytest.raises(ConfigurationError, match=f"mode {mode:03o}") as refused:
        read_token(file_with(tmp_path, TOKEN, mode), "server.admin_token_file")
    assert "chmod 600" in str(refused.value.fix)


def test_a_group_may_read_it_as_kubernetes_has_it(tmp_path: Path):
    assert read_token(file_with(tmp_path, TOKEN, 0o440), "x") == TOKEN


@pytest.mark.parametrize("token", ["", "short", "x" * 201, "a-token-with-\x1b-in-the-middle"])
def test_what_cannot_be_a_secret_is_refused(token: str):
    with pytest.raises(ConfigurationError, match="16 to 200"):
        check_token(token, "server.worker_token")


def test_what_contradicts_itself_is_refused(tmp_path: Path):
    path = file_with(tmp_path, TOKEN)
    for given, said in (
        ({"worker_token": TOKEN, "worker_token_file": path}, "twice"),
        ({"worker_token": TOKEN, "admin_token": TOKEN}, "worker's token too"),
        ({"admin_token_file": tmp_path / "none"}, "cannot be read"),
        ({"admin_token_file": tmp_path}, "cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            chosen_tokens(ServerSettings.from_mapping(given))
