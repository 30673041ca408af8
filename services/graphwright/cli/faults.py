"""How commands fail: one sentence on stderr; exit code 2 for bad input, 1 for the rest."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import typer
from pydantic import ValidationError

FAILED, BAD_INPUT = 1, 2

_INPUT_FAULTS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)


class BadInput(ValueError):
    """What the user typed cannot be meant."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn expected errors into a sentence and an exit code."""
    try:
        yield
    except BadInput as error:
        raise _exit(str(error), BAD_INPUT) from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"]))
        reason = fault["msg"].removeprefix("Value error, ")
        raise _exit(f"{field}: {reason}", BAD_INPUT) from error
    except grpc.RpcError as error:
        code, text = error.code(), error.details() or ""
        if code is grpc.StatusCode.UNAVAILABLE:
            remedy = "start one with `graphwright up`, or set GRAPHWRIGHT_URL"
            text = f"no planner answers ({text}); {remedy}"
        raise _exit(text, BAD_INPUT if code in _INPUT_FAULTS else FAILED) from error


def _exit(text: str, code: int) -> typer.Exit:
    typer.echo(f"graphwright: {text}", err=True)
    return typer.Exit(code)
