"""Commands about searches: submit, watch, list, show, trials, export, cancel."""

import json
from enum import StrEnum
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console

from graphwright.cli.client import SearchClient
from graphwright.cli.drawing import FORMATS
from graphwright.cli.faults import FAILED, BadInput, reported
from graphwright.cli.follow import follow
from graphwright.cli.reports import (
    result_table,
    search_object,
    searches_table,
    summary,
    trial_object,
)
from graphwright.cli.settings import CliSettings
from graphwright.local.stack import planner_url
from graphwright.search.budget import Budget, BudgetMetric
from graphwright.search.search import Search, SearchState
from graphwright.search.spec import AgentKind, SearchSpec

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SearchId = Annotated[str, typer.Argument(metavar="ID", help="The search's id.")]


class Format(StrEnum):
    """The keys of `FORMATS`."""

    JSON = "json"
    MERMAID = "mermaid"
    DOT = "dot"
    TEXT = "text"


out, err = Console(), Console(stderr=True)


def client() -> SearchClient:
    """A client of the configured planner, or of the local stack's."""
    return SearchClient(CliSettings().url or planner_url())


def submit(
    task: Annotated[str, typer.Option(help="Name of the task.")],
    pool: Annotated[str, typer.Option(help="Name of the model pool.")],
    budget: Annotated[float, typer.Option(help="Limit on what one question may cost.")],
    metric: Annotated[BudgetMetric, typer.Option(help="What the budget counts.")] = (
        BudgetMetric.FLOPS
    ),
    optimizer: Annotated[str, typer.Option(help="Name of the optimizer.")] = "agent-reinforce",
    agent: Annotated[AgentKind, typer.Option(help="Who guides the optimizer.")] = AgentKind.RULE,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    iterations: Annotated[int, typer.Option(help="Most rounds after initialisation.")] = 30,
    patience: Annotated[int, typer.Option(help="Rounds without improvement to stop after.")] = 10,
    graphs: Annotated[int, typer.Option(help="Graphs tried in a round.")] = 4,
    batch: Annotated[int, typer.Option(help="Training questions in a round.")] = 24,
    max_nodes: Annotated[int, typer.Option(help="Most nodes of a graph.")] = 24,
    request_id: Annotated[
        str, typer.Option(help="Makes repeated submission harmless; random by default.")
    ] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Follow the search to its end.")] = False,
    json_: Json = False,
) -> None:
    """Start a search for the graph that answers a task best within a budget."""
    with reported():
        spec = SearchSpec(
            task=task,
            pool=pool,
            budget=Budget(metric=metric, limit=budget),
            optimizer=optimizer,
            agent=agent,
            seed=seed,
            iterations=iterations,
            patience=patience,
            graphs=graphs,
            batch=batch,
            max_nodes=max_nodes,
        )
        with client() as service:
            search = service.submit(request_id or uuid4().hex, spec)
            if wait:
                search = follow(service, search, err)
        _print(search, json_=json_)
        if wait and search.state is not SearchState.SUCCEEDED:
            raise typer.Exit(FAILED)


def watch(id_: SearchId) -> None:
    """Follow a search live until it ends."""
    with reported(), client() as service:
        _print(follow(service, service.get(id_), err), json_=False)


def list_(json_: Json = False) -> None:
    """List searches, the youngest first."""
    with reported(), client() as service:
        found = list(service.searches())
    if json_:
        for search in found:
            typer.echo(json.dumps(search_object(search)))
    else:
        out.print(searches_table(found))


def show(id_: SearchId, json_: Json = False) -> None:
    """Show a search with its result."""
    with reported(), client() as service:
        _print(service.get(id_), json_=json_)


def cancel(id_: SearchId, json_: Json = False) -> None:
    """Ask a search to end."""
    with reported(), client() as service:
        _print(service.cancel(id_), json_=json_)


def trials(id_: SearchId, json_: Json = False) -> None:
    """List the trials of a search in the order of their proposal."""
    with reported(), client() as service:
        for trial in service.trials(id_):
            if json_:
                typer.echo(json.dumps(trial_object(trial)))
            else:
                typer.echo(
                    f"{trial.id}  {trial.stage:<9} {trial.origin:<8} score {trial.score:.3f}  "
                    f"{trial.budget_units:6.2f} units  {len(trial.graph.nodes)} nodes  "
                    f"{trial.latency_seconds * 1000:.0f} ms  {trial.graph_hash[:12]}"
                )


def export(
    id_: SearchId,
    format_: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.JSON,
) -> None:
    """Print the graph that a search found."""
    with reported():
        with client() as service:
            search = service.get(id_)
        if search.result is None:
            raise BadInput(f"search {id_} is {search.state} and has no graph")
        typer.echo(FORMATS[format_](search.result.graph))


def _print(search: Search, *, json_: bool) -> None:
    if json_:
        typer.echo(json.dumps(search_object(search)))
        return
    if search.result:
        out.print(result_table(search, search.result))
    out.print(summary(search), highlight=False, markup=False)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(submit)
    app.command()(watch)
    app.command("list")(list_)
    app.command()(show)
    app.command()(trials)
    app.command()(export)
    app.command()(cancel)
