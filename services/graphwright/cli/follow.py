"""Following a search live."""

from collections.abc import Iterator
from threading import Event

import grpc
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from graphwright.cli.client import SearchClient
from graphwright.search.search import Search, SearchEvent

RECONNECTIONS = 30
RECONNECTION_SECONDS = 1.0


def follow(client: SearchClient, search: Search, console: Console) -> Search:
    """Show progress until the search ends; the search as it then is."""
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=console.is_terminal) as progress:
        bar = progress.add_task("pending", total=search.spec.iterations, figures="")
        last = ""
        for event in _events(client, search.id):
            progress.update(
                bar,
                completed=search.spec.iterations if event.state.ended else event.progress.iteration,
                description=event.progress.step,
                figures=_figures(event),
            )
            if not console.is_terminal and _figures(event) != last:
                last = _figures(event)
                console.print(f"{event.progress.step:<10} {last}", highlight=False)
        _finish(progress, bar)
    return client.get(search.id)


def _events(client: SearchClient, search_id: str) -> Iterator[SearchEvent]:
    """Events until the search ends, through planners that die or are replaced on the way."""
    failures = 0
    while True:
        try:
            for event in client.watch(search_id):
                failures = 0
                yield event
            return
        except grpc.RpcError as error:
            failures += 1
            if error.code() is not grpc.StatusCode.UNAVAILABLE or failures > RECONNECTIONS:
                raise
        Event().wait(RECONNECTION_SECONDS)


def _finish(progress: Progress, bar: TaskID) -> None:
    progress.update(bar, visible=False)


def _figures(event: SearchEvent) -> str:
    now = event.progress
    best = "-" if now.best_validation_score is None else f"{now.best_validation_score:.1%}"
    return (
        f"iteration {now.iteration}, best validation {best}, {now.evaluations} evaluations, "
        f"{now.usage.calls} LLM calls, {now.seconds:.0f} s"
    )
