"""Starts a run of a service from unchecked settings, as the HTTP API does."""

from collections.abc import Mapping
from typing import Any

from attract.run.service import RunService
from attract.schema.api import RunView


async def start_run(
    service: RunService,
    game: str,
    given: Mapping[str, Any],
    *,
    run_id: str | None = None,
    resume: bool = False,
    **more: Any,
) -> RunView:
    """Check `given` and start the run, or go on with it; `more`: as `RunService.start_run`."""
    settings = service.settings_of(game, given, resumed=run_id if resume else None)
    return await service.start_run(game, settings, run_id=run_id, resume=resume, **more)
