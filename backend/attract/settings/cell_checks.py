"""Refuses settings that cells which learn as one cannot follow yet, before anything begins."""

from attract.errors import ConfigurationError
from attract.settings.run import RunSettings


def check_for_cells(settings: RunSettings) -> None:
    """Refuse what learners cannot do together yet. Raises: ConfigurationError: names the setting."""
    refused = {
        **{f"{settings.algorithm}.{name}": True for name in settings.algorithm_settings.refused_in_cells},
        "collection.seats": len(set(settings.collection.seats)) > 1,
        "exploration": settings.exploration != "none",
        "cloning.demonstrations": settings.cloning.demonstrations is not None,
        "federated": settings.federated is not None,
    }
    for name, is_given in refused.items():
        if is_given:
            raise ConfigurationError(
                "several cells cannot train with it: their updates are made together",
                setting=name,
                fix="leave it out, or train in one cell (without RANK and WORLD_SIZE)",
            )
