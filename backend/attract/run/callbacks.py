"""Episode- and step-triggered callbacks of a run: lessons, kept versions, evaluations, the goal (rule C6)."""

from collections.abc import Sequence
from statistics import fmean

from attract.collection import effects as collecting
from attract.collection import inputs
from attract.curriculum.controller import Action, ChangeLesson, Evaluate, KeepVersion
from attract.run import effects
from attract.run.core_state import CoreState
from attract.run.evaluation import EvaluationRequest, evaluation_metrics
from attract.run.life import PauseReason
from attract.runs.episode_choice import extremes
from attract.schema.api import EvaluationView, GameReport
from attract.schema.messages import Recording
from attract.schema.philox import derive_seed
from attract.schema.recorded_episode import EpisodeSource, RecordedEpisode


def act(state: CoreState, action: Action, now: float) -> None:
    """Run a callback that fell due."""
    match action:
        case ChangeLesson():
            set_lesson(state, now)
            view = state.progress.lesson()
            if view is not None:
                index, reason = action.global_episode_index, action.change.reason
                lesson = view.model_copy(update={"global_episode_index": index, "reason": reason})
                state.out.append(effects.Publish("lesson", lesson))
        case KeepVersion():
            state.out.append(effects.KeepVersion(state.progress.policy_version))
        case Evaluate():
            if state.evaluations.has("callback") or state.life.is_ending:
                return
            for mode in action.modes:
                deterministic, seed = mode == "deterministic", state.settings.evaluation.seed
                request = EvaluationRequest("callback", action.episodes, deterministic, seed)
                state.evaluations.add(request)


def set_lesson(state: CoreState, now: float) -> None:
    """Give later leases the controller's lesson; without any parameter nothing changes."""
    controller = state.controller
    parameters = state.progress.parameters = controller.parameters()
    if parameters or controller.lesson_id is not None:
        base = controller.base_parameters()
        state.collect(inputs.set_lesson, now, controller.lesson_id, parameters, base)


def confirm(state: CoreState, update: int, now: float) -> None:
    """The version that may have reached the goal is out: evaluate it."""
    wanted = state.settings.evaluation
    state.pause(PauseReason.CONFIRMING, now)
    state.lift(now, PauseReason.AWAITED_VERSION)
    request = EvaluationRequest("goal", wanted.episodes, wanted.deterministic, wanted.seed, update=update)
    state.evaluations.add(request)
    state.changed()


def begin_evaluation(state: CoreState, now: float) -> bool:
    """Ask for the evaluation whose turn it is; whether there was one."""
    if state.life.is_ending or (request := state.evaluations.begin_next()) is None:
        return False
    seed = derive_seed(request.seed, "evaluation")
    record: Recording = "extremes" if state.trains and state.settings.recording.keeps else "none"
    if request.record_all:
        record = "all"
    elif request.seats:
        record = "extremes"
    state.collect(
        inputs.request_evaluation,
        now,
        request.episodes,
        request.deterministic,
        seed,
        version=request.version,
        record=record,
        seats=request.seats,
        parameters=request.parameters,
    )
    return True


def evaluation_done(state: CoreState, effect: collecting.EvaluationDone, now: float) -> None:
    """Evaluate the results: mark the best version, check the goal, answer the request."""
    request, view = state.evaluations.done(), effect.view
    if request is None:
        return
    if not request.seats:
        state.progress.evaluation = view
    if state.trains and not request.seats:
        if state.evaluations.is_best(view, deterministic=state.settings.evaluation.deterministic):
            state.out.append(effects.MarkBest(view.policy_version))
        values, counters = evaluation_metrics(view), state.progress.counters
        state.controller.evaluated(values)
        state.out.append(effects.AddEvaluation(counters.updates, counters.agent_steps, values))
        _keep(state, "evaluation", effect.recorded, [fmean(result.returns) for result in effect.results])
        state.out += [
            effects.Publish("finding", finding) for finding in state.progress.examine_evaluation(values)
        ]
    if request.purpose == "asked":
        recorded = effect.recorded if request.record_all or request.seats else ()
        state.out.append(effects.AnswerEvaluation(request.request_id, view, recorded, effect.results))
    elif request.purpose == "goal" and not state.life.is_ending:
        goal_evaluated(state, request.update, view, now)
    state.changed()


def goal_evaluated(state: CoreState, update: int, view: EvaluationView, now: float) -> None:
    """The goal is reached, or training goes on."""
    if not view.confirmed:
        text = (
            f"visitors' browsers alone evaluated a return of {view.return_mean:g}: a goal is confirmed by "
            "browsers of your own; start one with the dashboard's `Run the workers in this tab`"
        )
        report = GameReport(kind="strangers", name="Unconfirmed", text=text, stack=None)
        state.out.append(collecting.Report(report))
    if state.progress.goal.evaluated(update, view) == "finish":
        state.end("finished", now, version=view.policy_version)
    else:
        state.lift(now, PauseReason.CONFIRMING)


def episodes_recorded(state: CoreState, effect: collecting.EpisodesRecorded, now: float) -> None:
    """Training episodes of a version came."""
    _keep(state, "training", effect.episodes)


def _keep(
    state: CoreState,
    source: EpisodeSource,
    recorded: Sequence[RecordedEpisode],
    returns: Sequence[float] = (),
) -> None:
    chosen = extremes(recorded, returns)
    if chosen and state.settings.recording.keeps:
        state.out.append(effects.KeepEpisodes(source, chosen, state.progress.counters.agent_steps))


def episodes_counted(state: CoreState, effect: collecting.EpisodesCounted, now: float) -> None:
    """Count finished episodes, and queue the callbacks that fall due with them."""
    state.progress.statistics.count(effect.results)
    state.due += state.controller.count(effect.first_index, effect.results)
