"""Messages of the HTTP API about the versions of a run."""

from attract.schema.base import Count, FiniteModel, Name, Seconds, WireModel


class VersionEvaluation(WireModel):
    """Result of an evaluation of a version."""

    deterministic: bool
    return_mean: float
    return_std: float | None


class VersionView(FiniteModel):
    """One version whose checkpoint is there."""

    policy_version: Count
    update: Count
    agent_steps: Count
    seconds: Seconds
    """Run time when it was made."""
    return_mean: float | None
    """Mean training return at that time; None: no episode had ended yet."""
    evaluations: list[VersionEvaluation] = []
    best: bool = False
    exported: bool = False
    """Its models are in the run's `export/`."""
    newest: bool = False


class VersionsView(WireModel):
    """Body of `GET /api/runs/{id}/versions`; `policy/{version}.onnx` gives the models of each."""

    run_id: Name
    versions: list[VersionView]
    """Ascending."""
