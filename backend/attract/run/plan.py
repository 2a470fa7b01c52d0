"""Translates a run's settings for the collection core and for the learner."""

import secrets

from attract.collection.config import BLOCK_BYTES, CollectionConfig, FittedConfig
from attract.errors import ConfigurationError
from attract.experience.store import SegmentStore, choose_path
from attract.runs.directory import RunDirectory
from attract.schema.game import GameDescription, GameReference
from attract.schema.inference import BeginInference
from attract.schema.learner import Begin
from attract.schema.philox import derive_seed
from attract.settings.run import RunSettings


def collection_config(
    settings: RunSettings,
    run_id: str,
    game: GameReference,
    *,
    resumed_from: str = "",
    first_lease_id: int = 1,
) -> CollectionConfig:
    """The collection core's part of the settings; the run seed keys all streams of training (C5).

    `resumed_from`: of the run directory, for a run that goes on. Slots and episodes are counted from 0 in
    every process: it enters the seed, so that no game learned from is played again (D2).
    """
    stream = "/".join(["run", *filter(None, [resumed_from])])
    config = CollectionConfig(
        run_id=run_id,
        game=game,
        stream_seed=derive_seed(settings.seed, stream),
        run=settings,
        first_lease_id=first_lease_id,
        secret=secrets.randbits(63),
    )
    # Without normalisation there are no statistics to set.
    is_normalised = settings.algorithm_settings.normalize_observations
    return config if is_normalised else config.with_settings(warmup_steps=0)


def create_store(settings: RunSettings, config: FittedConfig, directory: RunDirectory) -> SegmentStore:
    """The store for a run of this game, in shared memory where it fits.

    Raises:
        ConfigurationError: the game cannot be trained with these settings (S1, S5).
        StoreError: there is no room.
    """
    reason = settings.algorithm_settings.refuses.get(config.description.action.kind)
    if reason is not None:
        raise ConfigurationError(reason, setting="algorithm")
    layout = config.store_layout()
    policy_id, segments = min(config.batch_targets.items(), key=lambda target: target[1])
    policy = policy_id if len(set(config.settings.seats)) > 1 else ""
    settings.algorithm_settings.check_batch(settings.context, segments, policy)
    return SegmentStore.create(choose_path(directory.path, directory.run_id, layout), layout)


def begin_message(
    settings: RunSettings,
    directory: RunDirectory,
    description: GameDescription,
    store_path: str,
    initialize_from: str | None,
) -> Begin:
    """The learner's first message, for a fresh start or, where there is a checkpoint, to go on from it."""
    return Begin(
        run_id=directory.run_id,
        run_dir=str(directory.path.resolve()),
        store_path=store_path,
        description=description,
        settings=settings.model_dump(mode="json"),
        # A learner that died before its first checkpoint leaves nothing to go on from.
        resume=bool(directory.versions()),
        initialize_from=initialize_from,
    )


def begin_inference_message(
    settings: RunSettings,
    config: FittedConfig,
    directory: RunDirectory,
    inbound_path: str,
    outbound_path: str,
) -> BeginInference:
    """The inference process's first message; its blocks are as large as the workers' own."""
    trace = directory.path / "logs" / "timeline.json" if settings.collection.trace else None
    return BeginInference(
        run_id=directory.run_id,
        description=config.description,
        seed=config.stream_seed,
        horizon=config.horizon,
        num_groups=config.num_groups,
        state_size=config.state_size,
        max_columns=max(1, BLOCK_BYTES // config.segment_bytes()),
        device=settings.device,
        num_threads=settings.learner_threads,
        inbound_path=inbound_path,
        outbound_path=outbound_path,
        trace_path=None if trace is None else str(trace.resolve()),
    )
