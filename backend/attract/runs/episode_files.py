"""Reads and writes files of recorded episodes."""

import json
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from attract.errors import ConfigurationError, FileError
from attract.files import first_problem, parse_object, read_file
from attract.schema.episode_actions import check_recorded, deflated
from attract.schema.recorded_episode import RecordedEpisode

MAX_FILE_BYTES: Final = 4 << 20
"""The longest actions have half of that, as base64 that is not deflated."""
SUFFIX: Final = ".episode.json"


def read_episode(path: Path, folder: Path | None = None) -> RecordedEpisode:
    """The episode of a file, which may be a stranger's.

    Args:
        path: the file.
        folder: that it was found in, which no link may lead out of; None: it was named itself.

    Raises: FileError: it cannot be read, or is no recorded episode.
    """
    data = read_file(path, MAX_FILE_BYTES, folder)
    document = parse_object(data, path)
    try:
        episode = RecordedEpisode.model_validate(document)
        check_recorded(episode)
    except ValidationError as error:
        raise FileError(path, f"is no recorded episode: {first_problem(error)}") from None
    except ConfigurationError as error:
        raise FileError(path, f"is no recorded episode: {error.setting}: {error.problem}") from None
    return episode


def written(episode: RecordedEpisode) -> bytes:
    """The content of its file: what has a default and is not set is left out."""
    document = deflated(episode).model_dump(mode="json", exclude_defaults=True)
    whole = {"format": episode.format, "version": episode.version, **document}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
