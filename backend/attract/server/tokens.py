"""Tokens of the operator's own choice: from a file that others cannot read, or from a variable."""

from pathlib import Path
from typing import Final, Literal

from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings

MIN_TOKEN_CHARACTERS: Final = 16
MAX_TOKEN_CHARACTERS: Final = 200
SECRET_FOLDERS: Final = (Path("/run/secrets"), Path("/var/run/secrets"))
"""Folders where container engines put secrets, with modes that they choose."""
MAKE_ONE: Final = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"


def chosen_tokens(settings: ServerSettings) -> dict[Literal["admin", "worker"], str]:
    """The tokens that the operator chose, by role. Raises: ConfigurationError: as `chosen_token`."""
    admin = chosen_token(settings.admin_token, settings.admin_token_file, "server.admin_token")
    worker = chosen_token(settings.worker_token, settings.worker_token_file, "server.worker_token")
    found: dict[Literal["admin", "worker"], str] = {}
    if admin is not None:
        found["admin"] = admin
    if worker is not None:
        found["worker"] = worker
    if admin is not None and admin == worker:
        fix = "every worker would be an admin: choose two different tokens"
        raise ConfigurationError("is the worker's token too", setting="server.admin_token", fix=fix)
    return found


def chosen_token(token: str | None, file: Path | None, setting: str) -> str | None:
    """The token that was chosen by the text or by the file; None without either.

    Raises: ConfigurationError: when both are given, the file cannot be read, others may read it, or the token
        cannot be a secret.
    """
    if file is None:
        return None if token is None else check_token(token, setting)
    if token is not None:
        raise ConfigurationError("is given twice", setting=setting, fix="give the file alone")
    return read_token(file, f"{setting}_file")


def read_token(file: Path, setting: str) -> str:
    """The token that a file holds, without what is blank around it.

    Raises: ConfigurationError: as `chosen_token`.
    """
    try:
        mode = file.stat().st_mode & 0o777
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(f"{file} cannot be read: {reason}", setting=setting) from None
    if mode & 0o007 and not _is_of_a_container(file):
        raise ConfigurationError(
            f"{file} is readable by all users of this machine (mode {mode:03o})",
            setting=setting,
            fix=f"chmod 600 {file}; in Kubernetes defaultMode: 0440 with an fsGroup",
        )
    return check_token(text, setting)


def check_token(token: str, setting: str) -> str:
    """`token` itself. Raises: ConfigurationError: when it is too short or too long to be a secret."""
    if not MIN_TOKEN_CHARACTERS <= len(token) <= MAX_TOKEN_CHARACTERS or not token.isprintable():
        raise ConfigurationError(
            f"the token has {len(token)} characters, {MIN_TOKEN_CHARACTERS} to {MAX_TOKEN_CHARACTERS}"
            " that can be printed are needed",
            setting=setting,
            fix=MAKE_ONE,
        )
    return token


def _is_of_a_container(file: Path) -> bool:
    return any(file.absolute().is_relative_to(folder) for folder in SECRET_FOLDERS)
