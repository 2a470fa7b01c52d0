"""Definitions of programs outside of Attract that play: a command of this machine, or a URL of it."""

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final, cast
from urllib.parse import urlsplit

NAME: Final = re.compile("[A-Za-z0-9_-]{1,40}")


def programs_of(given: Any) -> Any:
    """By name, of texts such as `bot=python bot.py` or `bot=http://127.0.0.1:8123/`.

    Raises: ValueError: one is none, is there twice, or is of another machine.
    """
    if isinstance(given, Mapping):
        items = list(cast("Mapping[str, str]", given).items())
    else:
        items = [(name, place) for name, _, place in (str(text).partition("=") for text in _list(given))]
    programs: dict[str, str] = {}
    for name, place in items:
        if not NAME.fullmatch(name) or not place.strip():
            raise ValueError(
                f"outside {f'{name}={place}'!r}: give a name of letters, digits, - and _, and a command or a "
                'URL, such as bot="python bot.py" or bot=http://127.0.0.1:8123/'
            )
        if name in programs:
            raise ValueError(f"outside {name!r} is defined twice")
        (_check_url if is_url(place) else _check_command)(place.strip())
        programs[name] = place.strip()
    return programs


def is_url(place: str) -> bool:
    """Whether a program is asked over HTTP; else it is a command."""
    return "://" in place.split(maxsplit=1)[0]


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_fine = parts.scheme == "http" and "@" not in parts.netloc and parts.port != 0
        is_fine = is_fine and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        is_fine = False
    if not is_fine or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(
            f"outside {url!r}: a program that is asked over HTTP runs on this machine: "
            "http://127.0.0.1:PORT/, http://[::1]:PORT/ or http://localhost:PORT/"
        )


def _check_command(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"outside {command!r} cannot be split into words: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"outside {command!r}: there is no program {words[0] if words else ''!r} here")


def _list(given: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", given) if isinstance(given, list | tuple) else [given]
