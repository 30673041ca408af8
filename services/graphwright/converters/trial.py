"""search.proto, the part about trials: what was run, how it did and what it consumed."""

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.converters.fields import Labels, decoder, each, required, stated
from graphwright.converters.graph import decode_graph, encode_graph
from graphwright.search.trial import QuestionOutcome, Stage, Trial, TrialStatus, Usage

STAGES = Labels(
    {
        Stage.PRETEST: pb.STAGE_PRETEST,
        Stage.INSTANCES: pb.STAGE_INSTANCES,
        Stage.SEARCH: pb.STAGE_SEARCH,
    }
)
STATUSES = Labels(
    {
        TrialStatus.COMPLETED: pb.TRIAL_STATUS_COMPLETED,
        TrialStatus.FAILED: pb.TRIAL_STATUS_FAILED,
    }
)


def encode_usage(usage: Usage) -> pb.Usage:
    """Encode a consumption."""
    return pb.Usage(
        calls=usage.calls,
        executed_calls=usage.executed_calls,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        flops=usage.flops,
        usd=usage.usd,
    )


@decoder
def decode_usage(message: pb.Usage) -> Usage:
    """Decode a consumption. Raises InvalidField."""
    return Usage(
        calls=message.calls,
        executed_calls=message.executed_calls,
        prompt_tokens=message.prompt_tokens,
        output_tokens=message.output_tokens,
        flops=message.flops,
        usd=message.usd,
    )


def encode_question_outcome(outcome: QuestionOutcome) -> pb.QuestionOutcome:
    """Encode the outcome of one question."""
    return pb.QuestionOutcome(
        question_id=outcome.question_id,
        score=outcome.score,
        failed=outcome.failed,
        latency_seconds=outcome.latency_seconds,
    )


@decoder
def decode_question_outcome(message: pb.QuestionOutcome) -> QuestionOutcome:
    """Decode the outcome of one question. Raises InvalidField."""
    return QuestionOutcome(
        question_id=stated(message, "question_id"),
        score=message.score,
        failed=message.failed,
        latency_seconds=message.latency_seconds,
    )


def encode_trial(trial: Trial) -> pb.Trial:
    """Encode a trial."""
    return pb.Trial(
        id=trial.id,
        search_id=trial.search_id,
        iteration=trial.iteration,
        stage=STAGES.encode(trial.stage),
        origin=trial.origin,
        graph=encode_graph(trial.graph),
        graph_hash=trial.graph_hash,
        budget_units=trial.budget_units,
        status=STATUSES.encode(trial.status),
        score=trial.score,
        failed_questions=trial.failed_questions,
        latency_seconds=trial.latency_seconds,
        outcomes=map(encode_question_outcome, trial.outcomes),
        usage=encode_usage(trial.usage),
    )


@decoder
def decode_trial(message: pb.Trial) -> Trial:
    """Decode a trial. Raises InvalidField."""
    return Trial(
        id=stated(message, "id"),
        search_id=stated(message, "search_id"),
        iteration=message.iteration,
        stage=STAGES.decode("stage", message.stage),
        origin=message.origin,
        graph=required(message, "graph", decode_graph),
        graph_hash=message.graph_hash,
        budget_units=message.budget_units,
        status=STATUSES.decode("status", message.status),
        score=message.score,
        failed_questions=message.failed_questions,
        latency_seconds=message.latency_seconds,
        outcomes=each("outcomes", message.outcomes, decode_question_outcome),
        usage=required(message, "usage", decode_usage),
    )
