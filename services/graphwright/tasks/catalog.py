"""Task sets by name, read from the task files that ship with Graphwright.

A task file is TOML: `source` names a generator of questions, `[splits]` how many questions each
split takes from it, in order, so that splits never overlap.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphwright.graphs.model_spec import TaskLengths
from graphwright.tasks import arithmetic
from graphwright.tasks.taskset import Prompts, Question, Split, TaskSet

Source = Callable[[int, int], Sequence[tuple[str, str]]]
"""(seed, count) → distinct (question, reference) pairs; a larger count only appends."""

SOURCES: Mapping[str, Source] = {"arithmetic": arithmetic.questions}


class UnknownTask(ValueError):
    """No task of this name is installed."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown task {name!r}; known: {', '.join(known)}")
        self.name = name


class InvalidTaskFile(ValueError):
    """A task file does not follow the format."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source


class TaskFile(BaseModel):
    """A task as its file declares it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str
    source: str
    grader: str
    seed: int = Field(ge=0)
    max_tokens: int = Field(ge=1)
    stop: tuple[str, ...] = ()
    splits: dict[Split, int]
    prompts: Prompts


def task_names() -> list[str]:
    """The tasks that ship with Graphwright."""
    entries = (files(__package__) / "data").iterdir()
    return sorted(Path(e.name).stem for e in entries if e.name.endswith(".toml"))


@lru_cache(maxsize=64)
def load_task(name: str) -> TaskSet:
    """A task set by name. Raises UnknownTask, InvalidTaskFile."""
    if name not in task_names():
        raise UnknownTask(name, task_names())
    text = (files(__package__) / "data" / f"{name}.toml").read_text(encoding="utf-8")
    try:
        file = TaskFile.model_validate(tomllib.loads(text))
        return _build(name, file)
    except (tomllib.TOMLDecodeError, ValidationError, KeyError) as error:
        raise InvalidTaskFile(f"{name}.toml", str(error)) from error


def _build(name: str, file: TaskFile) -> TaskSet:
    pairs = SOURCES[file.source](file.seed, sum(file.splits.values()))
    splits: dict[Split, tuple[Question, ...]] = {}
    start = 0
    for split in Split:
        rows = pairs[start : start + file.splits[split]]
        splits[split] = tuple(
            Question(id=f"{split}-{index:04d}", text=text, reference=reference)
            for index, (text, reference) in enumerate(rows)
        )
        start += len(rows)
    return TaskSet(
        name=name,
        description=file.description,
        grader=file.grader,
        prompts=file.prompts,
        max_tokens=file.max_tokens,
        stop=file.stop,
        lengths=_lengths(file.prompts, splits[Split.TRAIN]),
        train=splits[Split.TRAIN],
        validation=splits[Split.VALIDATION],
        test=splits[Split.TEST],
    )


def _lengths(prompts: Prompts, questions: Sequence[Question]) -> TaskLengths:
    """Mean lengths in characters, the pocket models' tokens; the stop token counts as output."""
    return TaskLengths(
        prompt=fmean(len(prompts.answer.render(q.text, ())) for q in questions),
        output=fmean(len(q.reference) + 1 for q in questions),
    )
