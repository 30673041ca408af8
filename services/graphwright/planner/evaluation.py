"""From graded runs to scores and trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from statistics import fmean

from graphwright.search.messages import GradedExecution
from graphwright.search.trial import QuestionOutcome, TrialStatus, Usage


@dataclass(frozen=True)
class Evaluation:
    """How one graph did on one set of questions; `latency_seconds` is a mean over them."""

    status: TrialStatus
    score: float
    failed_questions: int
    latency_seconds: float
    outcomes: tuple[QuestionOutcome, ...]
    usage: Usage


def summarize(runs: Sequence[GradedExecution]) -> Evaluation:
    """The evaluation of a graph from its graded runs, at least one.

    A failed run scores what its grade says, which is that of the answer it still gave.
    """
    outcomes = tuple(
        QuestionOutcome(
            question_id=run.execution.question_id,
            score=run.grade.score,
            failed=run.execution.failed,
            latency_seconds=run.execution.latency_seconds,
        )
        for run in runs
    )
    failed = sum(outcome.failed for outcome in outcomes)
    return Evaluation(
        status=TrialStatus.FAILED if failed == len(outcomes) else TrialStatus.COMPLETED,
        score=fmean(outcome.score for outcome in outcomes),
        failed_questions=failed,
        latency_seconds=fmean(outcome.latency_seconds for outcome in outcomes),
        outcomes=outcomes,
        usage=reduce(add, (_usage(run) for run in runs)),
    )


def _usage(run: GradedExecution) -> Usage:
    execution = run.execution
    return Usage(
        calls=execution.calls,
        executed_calls=execution.executed_calls,
        prompt_tokens=execution.prompt_tokens,
        output_tokens=execution.output_tokens,
        flops=execution.flops,
        usd=execution.usd,
    )
