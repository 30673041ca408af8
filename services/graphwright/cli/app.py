"""The `graphwright` command: its parts put together."""

import typer

from graphwright.cli import demo, searches, stack

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Search for compute-optimal collaboration graphs of language models, and run them.",
)
stack.register(app)
searches.register(app)
demo.register(app)


def main() -> None:
    """Entry point."""
    app()
