"""Task sets and their prompts.

A task set is questions in three splits, one prompt template per kind of node, a grader's name and
mean token lengths. Its content hash covers all of it, so two services can tell that they hold the
same one.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Role
from graphwright.graphs.model_spec import TaskLengths


class Split(StrEnum):
    """The three disjoint sets of questions."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Question(BaseModel):
    """A question with its reference answer, which only the evaluator may read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: str
    reference: str


class PromptTemplate(BaseModel):
    """A prompt: `question` once, `predecessor` per earlier answer, then `ending`.

    `{question}` and `{answer}` are replaced literally; no other markup is interpreted, so braces in
    a model's output do no harm.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    predecessor: str = ""
    ending: str = ""

    def render(self, question: str, answers: Sequence[str]) -> str:
        """The prompt for a question and earlier answers, in the order given."""
        head = self.question.replace("{question}", question)
        body = "".join(self.predecessor.replace("{answer}", answer) for answer in answers)
        return head + body + self.ending


class Prompts(BaseModel):
    """What a node is told: an assistant answers or refines, a fuser fuses (paper §3, Algorithm 2).

    A node of either role without predecessors answers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: PromptTemplate
    refine: PromptTemplate
    fuse: PromptTemplate

    def render(self, role: Role, question: str, answers: Sequence[str]) -> str:
        """The prompt of one node."""
        if not answers:
            return self.answer.render(question, ())
        template = self.fuse if role is Role.FUSER else self.refine
        return template.render(question, answers)

    def fingerprints(self) -> Mapping[Role, str]:
        """A hash per role of every template that a node of this role may be given."""
        shared = self.answer.model_dump_json()
        return {
            Role.ASSISTANT: _hash(shared + self.refine.model_dump_json()),
            Role.FUSER: _hash(shared + self.fuse.model_dump_json()),
        }


class TaskSet(BaseModel):
    """A task: what is asked, how, and how answers are graded.

    `max_tokens` bounds one answer, `stop` ends it, `lengths` are the mean token counts that static
    costs are computed from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    grader: str
    prompts: Prompts
    max_tokens: int = Field(ge=1)
    stop: tuple[str, ...] = ()
    lengths: TaskLengths
    train: tuple[Question, ...] = Field(min_length=1)
    validation: tuple[Question, ...] = Field(min_length=1)
    test: tuple[Question, ...] = Field(min_length=1)

    def questions(self, split: Split) -> tuple[Question, ...]:
        """The questions of a split, in their fixed order."""
        by_split = {
            Split.TRAIN: self.train,
            Split.VALIDATION: self.validation,
            Split.TEST: self.test,
        }
        return by_split[split]

    @cached_property
    def references(self) -> Mapping[str, str]:
        """Reference answers by question id."""
        every = (*self.train, *self.validation, *self.test)
        return {question.id: question.reference for question in every}

    @cached_property
    def content_hash(self) -> str:
        """A hash of the whole task set."""
        return _hash(self.model_dump_json())


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
