"""`graphwright demo`: a whole search on this machine, from nothing to a graph that answers."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import uuid4

import typer

from graphwright.cli import stack as stack_commands
from graphwright.cli.client import SearchClient
from graphwright.cli.faults import FAILED, reported
from graphwright.cli.follow import follow
from graphwright.cli.reports import result_table, summary
from graphwright.cli.searches import err, out
from graphwright.local import stack
from graphwright.local.settings import LocalSettings
from graphwright.local.state import load
from graphwright.search.budget import Budget
from graphwright.search.search import Search
from graphwright.search.spec import SearchSpec


def demo(
    budget: Annotated[float, typer.Option(help="Limit in calls of the smallest model.")] = 18.0,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    iterations: Annotated[int, typer.Option(help="Most rounds after initialisation.")] = 10,
    batch: Annotated[int, typer.Option(help="Training questions in a round.")] = 160,
) -> None:
    """Search for a graph of pocket models on arithmetic, and compare it with single calls.

    Starts NATS, MongoDB, Triton and the services unless they run already, and ends what it started.
    """
    with reported():
        spec = SearchSpec(
            task="arithmetic",
            pool="pocket",
            budget=Budget(limit=budget),
            seed=seed,
            iterations=iterations,
            batch=batch,
            patience=max(iterations // 2, 1),
        )
        with _running_stack(), SearchClient(stack.planner_url()) as service:
            search = follow(service, service.submit(uuid4().hex, spec), err)
        _print(search)


@contextmanager
def _running_stack() -> Iterator[None]:
    """The local stack: the one that runs already, or one for as long as the context lasts."""
    found = load(LocalSettings().home)
    if found is not None and found.alive:
        yield
        return
    stack_commands.up()
    try:
        yield
    finally:
        asyncio.run(stack.down(LocalSettings()))
        out.print("graphwright is down")


def _print(search: Search) -> None:
    out.print()
    out.print(summary(search), highlight=False, markup=False)
    if search.result is None:
        raise typer.Exit(FAILED)
    out.print()
    out.print(result_table(search, search.result))
    rivals = [single for single in search.result.single_models if single.within_budget]
    best = max(rivals, key=lambda single: single.test_score)
    gain = search.result.test_score - best.test_score
    out.print(
        f"Within {search.spec.budget.limit:g} budget units the found graph is right on "
        f"{search.result.test_score:.1%} of the test questions, {gain:+.1%} against the best "
        f"single call ({best.model}, {best.test_score:.1%}).",
        highlight=False,
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
