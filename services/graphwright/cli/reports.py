"""What commands print about searches and trials."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from graphwright.cli.drawing import as_text
from graphwright.search.search import Search, SearchResult
from graphwright.search.trial import Trial


def search_object(search: Search) -> Mapping[str, Any]:
    """A search as one JSON object."""
    result = search.result
    progress = search.progress
    return {
        "id": search.id,
        "state": str(search.state),
        "task": search.spec.task,
        "pool": search.spec.pool,
        "optimizer": search.spec.optimizer,
        "seed": search.spec.seed,
        "graph": result and result.graph.model_dump(mode="json"),
        "graph_hash": result and result.graph_hash,
        "validation_score": result.validation_score if result else progress.best_validation_score,
        "test_score": result and result.test_score,
        "test_questions": result and result.test_questions,
        "single_model_scores": result and {s.model: s.test_score for s in result.single_models},
        "budget_units": result and result.budget_units,
        "latency_seconds": result and result.latency_seconds,
        "iterations": progress.iteration,
        "evaluations": progress.evaluations,
        "llm_calls": progress.usage.calls,
        "executed_llm_calls": progress.usage.executed_calls,
        "tokens": progress.usage.prompt_tokens + progress.usage.output_tokens,
        "seconds": progress.seconds,
        "error": search.error,
    }


def trial_object(trial: Trial) -> Mapping[str, Any]:
    """A trial as one JSON object."""
    return {
        "id": trial.id,
        "iteration": trial.iteration,
        "stage": str(trial.stage),
        "origin": trial.origin,
        "graph": trial.graph.model_dump(mode="json"),
        "graph_hash": trial.graph_hash,
        "budget_units": trial.budget_units,
        "score": trial.score,
        "questions": len(trial.outcomes),
        "failed_questions": trial.failed_questions,
        "latency_seconds": trial.latency_seconds,
        "llm_calls": trial.usage.calls,
        "executed_llm_calls": trial.usage.executed_calls,
        "status": str(trial.status),
    }


def searches_table(searches: Iterable[Search]) -> Table:
    """One row per search."""
    table = Table("id", "state", "task", "pool", "optimizer", "budget", "validation", "test")
    for search in searches:
        spec, best = search.spec, search.progress.best_validation_score
        table.add_row(
            search.id,
            str(search.state),
            spec.task,
            spec.pool,
            spec.optimizer,
            f"{spec.budget.limit:g} {spec.budget.metric}",
            "" if best is None else f"{best:.1%}",
            f"{search.result.test_score:.1%}" if search.result else "",
        )
    return table


def result_table(search: Search, result: SearchResult) -> Table:
    """The found graph against every single model, on the test questions."""
    table = Table(title=f"{search.spec.task}: accuracy on {result.test_questions} test questions")
    table.add_column("")
    table.add_column("test accuracy", justify="right")
    table.add_column("budget units", justify="right")
    table.add_column("fits the budget", justify="center")
    table.add_row(
        f"found graph ({len(result.graph.nodes)} calls)",
        f"{result.test_score:.1%}",
        f"{result.budget_units:.2f}",
        "yes",
        style="bold",
    )
    for single in sorted(result.single_models, key=lambda s: s.budget_units):
        table.add_row(
            f"one call of {single.model}",
            f"{single.test_score:.1%}",
            f"{single.budget_units:.2f}",
            "yes" if single.within_budget else "no",
        )
    return table


def summary(search: Search) -> str:
    """A search in a few lines, its graph drawn."""
    progress = search.progress
    lines = [
        f"search {search.id}: {search.state}, {progress.iteration} iterations, "
        f"{progress.evaluations} evaluations, {progress.usage.calls} LLM calls "
        f"({progress.usage.executed_calls} executed), {progress.seconds:.1f} s"
    ]
    if search.error:
        lines.append(f"error: {search.error}")
    if search.result:
        result = search.result
        lines += [
            f"graph {result.graph_hash[:12]}: {result.budget_units:.2f} budget units, "
            f"{result.latency_seconds * 1000:.0f} ms critical path, "
            f"validation {result.validation_score:.1%}, test {result.test_score:.1%}",
            as_text(result.graph),
        ]
    return "\n".join(lines)
