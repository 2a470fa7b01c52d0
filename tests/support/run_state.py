"""What a run core remembers, of a run of the counting game; tests call what decides on it one by one."""

from collections.abc import Mapping
from typing import Any

from attract.collection.core import CollectionCore
from attract.curriculum.controller import CurriculumController
from attract.run.collection_effects import HANDLERS
from attract.run.core_state import CoreState, Handler
from attract.run.progress import RunProgress
from attract.settings.run import RunSettings
from driven_core import small_config
from fake_worker import counting_game


def run_state(
    collection: CollectionCore | None = None,
    /,
    *,
    handlers: Mapping[type[Any], Handler] = HANDLERS,
    **settings: Any,
) -> CoreState:
    """The state of a run that has just begun; `collection`: None: one without workers."""
    run_settings = RunSettings.from_mapping(settings)
    controller = CurriculumController(run_settings)
    return CoreState(
        run_settings,
        collection or CollectionCore(small_config()),
        controller,
        RunProgress("run-1", "2026-01-01", run_settings, counting_game(), controller, 0.0),
        dict(handlers),
        num_cores=1,
        starts_untrained=True,
        trains=True,
    )
