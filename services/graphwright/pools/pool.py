"""Model cards and pools.

A pool file is TOML: `name` and one `[[models]]` table per model with the fields of `ModelCard`.
"""

import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphwright.graphs.model_spec import ModelSpec


class UnknownPool(ValueError):
    """No pool of this name is installed."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown pool {name!r}; known: {', '.join(known)}")
        self.name = name


class InvalidPoolFile(ValueError):
    """A pool file does not follow the format."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source


class ModelCard(ModelSpec):
    """A model, what it costs and how to call it.

    `served_model` is the name on the server; `revision` tells weights of the same name apart, so
    that finished calls of one are never taken for calls of another. `client_batch` prompts may ride
    in one request (1 for servers that batch in flight themselves); `max_concurrency` calls may be
    under way at once; `context` is the longest prompt plus answer in tokens.
    """

    backend: Literal["triton"] = "triton"
    served_model: str = ""
    revision: str = Field(default="", max_length=128)
    client_batch: int = Field(default=1, ge=1, le=1024)
    max_concurrency: int = Field(default=64, ge=1, le=65536)
    context: int = Field(default=4096, ge=1)

    @property
    def endpoint(self) -> str:
        """The name under which the server knows the model."""
        return self.served_model or self.name


class ModelPool(BaseModel):
    """The models that a search may use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    models: tuple[ModelCard, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> "ModelPool":
        names = [card.name for card in self.models]
        if len(set(names)) != len(names):
            raise ValueError("model names must be unique within a pool")
        return self

    def card(self, name: str) -> ModelCard:
        """The card of a model; KeyError if the pool has none of this name."""
        return next(card for card in self.models if card.name == name)


def read_pool(path: Path) -> ModelPool:
    """Load a pool file. Raises InvalidPoolFile."""
    return _parse(path.read_text(encoding="utf-8"), str(path))


def pool_names() -> list[str]:
    """The pools that ship with Graphwright."""
    entries = (files(__package__) / "data").iterdir()
    return sorted(Path(e.name).stem for e in entries if e.name.endswith(".toml"))


@lru_cache(maxsize=64)
def load_pool(name: str) -> ModelPool:
    """A pool by name. Raises UnknownPool, InvalidPoolFile."""
    if name not in pool_names():
        raise UnknownPool(name, pool_names())
    resource = files(__package__) / "data" / f"{name}.toml"
    return _parse(resource.read_text(encoding="utf-8"), f"{name}.toml")


def _parse(text: str, source: str) -> ModelPool:
    try:
        return ModelPool.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise InvalidPoolFile(source, str(error)) from error
