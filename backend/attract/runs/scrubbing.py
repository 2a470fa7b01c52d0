"""Takes out of a text what must not leave the machine: tokens, cookies, paths of homes, addresses."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

MIN_SECRET_CHARACTERS: Final = 6
SECRET_VARIABLES: Final = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL|COOKIE|WEBHOOK", re.IGNORECASE
)
"""Environment variables whose values are taken out wherever they stand."""
REMOVED: Final = "<removed>"
_PATTERNS: Final = (
    # An address with a token: the fragment of the dashboard's link, an invitation, a command line.
    (
        re.compile(
            r"(?i)\b(token|access_token|invite|invitation|key|secret|password)(\"?\s*[=:]\s*\"?)[^\s\"'&,}\])]+"
        ),
        rf"\1\2{REMOVED}",
    ),
    (re.compile(r"(?i)(--token[= ]+)\S+"), rf"\1{REMOVED}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {REMOVED}"),
    (re.compile(r"(?i)\b((?:set-)?cookie\"?\s*[:=]\s*\"?)[^\"\n]+"), rf"\1{REMOVED}"),
    (re.compile(r"\b(attract_[0-9a-f]{6,})=[^\s;\"',]+"), rf"\1={REMOVED}"),
    (re.compile(r"(//)[^/\s:@]+:[^/\s@]+@"), rf"\1{REMOVED}@"),
    (re.compile(r"(/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"':]+"), "~"),
    (re.compile(r"(?<![\w/])/root(?=[/\s\"':]|$)"), "~"),
)
_LONG: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,}(?:\.[A-Za-z0-9_-]{16,})*(?![A-Za-z0-9_-])")
"""What tokens look like: 256 bits in base64; digests in hex and run ids do too, see `_is_plain`."""
_DIGEST: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+|0+")
_NAME: Final = re.compile(r"[a-z0-9]{1,20}(?:[_-][a-z0-9]{1,20})+")
_IPV4: Final = re.compile(r"(?<![\d.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6: Final = re.compile(
    r"(?<![0-9A-Fa-f:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4})+(?![0-9A-Za-z:])"
)


class Scrubber:
    """Knows this machine's own names; used by `attract report` on every text that it packs."""

    def __init__(
        self, environment: Mapping[str, str], folders: Mapping[str, str], names: Iterable[str] = ()
    ) -> None:
        """What is taken out.

        Args:
            environment: the values of variables that look like secrets' are.
            folders: absolute path to what stands in its place; the longest goes first.
            names: of the machine and the person, taken out where they stand as words.
        """
        self._secrets = sorted(
            {
                value.strip()
                for name, value in environment.items()
                if SECRET_VARIABLES.search(name) and len(value.strip()) >= MIN_SECRET_CHARACTERS
            },
            key=len,
            reverse=True,
        )
        self._folders = sorted(
            ((path.rstrip("/"), said) for path, said in folders.items() if len(path.rstrip("/")) > 1),
            key=lambda entry: -len(entry[0]),
        )
        self._names = [
            re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])") for name in names if len(name) > 2
        ]

    def text(self, text: str) -> str:
        """`text` without all of that."""
        for secret in self._secrets:
            text = text.replace(secret, REMOVED)
        for path, said in self._folders:
            text = re.sub(rf"{re.escape(path)}(?![\w.-])", lambda _, said=said: said, text)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        text = _LONG.sub(lambda match: match[0] if _is_plain(match[0]) else REMOVED, text)
        text = _IPV6.sub("<address>", _IPV4.sub("<address>", text))
        for name in self._names:
            text = name.sub("<name>", text)
        return text


def own_folders(home: Path, folders: Mapping[str, Path]) -> dict[str, str]:
    """Absolute path to what is written in its place, for `Scrubber`; also with links resolved."""
    known = {str(home): "~", str(home.resolve()): "~"}
    for said, folder in folders.items():
        known |= {str(folder.absolute()): f"<{said}>", str(folder.resolve()): f"<{said}>"}
    return known


def _is_plain(text: str) -> bool:
    """A digest in hex, or small words with dashes: a token of 43 random characters is neither."""
    return _DIGEST.fullmatch(text) is not None or _NAME.fullmatch(text) is not None
