"""Refuses settings that distributed training does not support yet, at start-up."""

from attract.errors import ConfigurationError
from attract.settings.run import RunSettings


def check_for_cells(settings: RunSettings) -> None:
    """Refuse unsupported settings. Raises: ConfigurationError: names the setting."""
    reason = settings.algorithm_settings.refuses.get("cells")
    if reason is not None:
        raise ConfigurationError(reason, setting="algorithm")
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
                "distributed training with several cells does not support it",
                setting=name,
                fix="remove it, or train in one cell (without RANK and WORLD_SIZE)",
            )
