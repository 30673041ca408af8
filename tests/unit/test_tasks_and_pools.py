"""Task sets and pools: splits, prompts, hashes, files."""

import json
from hashlib import sha256

import pytest

from graphwright.evaluator.graders import GRADERS
from graphwright.graphs.graph import Role
from graphwright.local.settings import LocalSettings
from graphwright.pools.pool import InvalidPoolFile, UnknownPool, load_pool, pool_names, read_pool
from graphwright.tasks.catalog import UnknownTask, load_task, task_names
from graphwright.tasks.taskset import PromptTemplate, Split


@pytest.mark.parametrize("name", task_names())
def test_splits_never_overlap(name: str) -> None:
    task = load_task(name)
    texts = [question.text for split in Split for question in task.questions(split)]
    assert len(texts) == len(set(texts))
    assert len(task.references) == len(texts)


@pytest.mark.parametrize("name", task_names())
def test_references_earn_full_marks(name: str) -> None:
    task = load_task(name)
    grade = GRADERS[task.grader]
    assert all(grade(q.reference, q.reference).score == 1 for q in task.test)


@pytest.mark.parametrize("name", task_names())
def test_references_fit_the_token_limit(name: str) -> None:
    task = load_task(name)
    assert max(len(q.reference) for q in (*task.train, *task.test)) < task.max_tokens


def test_the_content_hash_depends_on_everything() -> None:
    task = load_task("arithmetic")
    changed = task.prompts.answer.model_copy(update={"ending": "B "})
    prompts = task.prompts.model_copy(update={"answer": changed})
    others = [
        task.model_copy(update={"prompts": prompts}),
        task.model_copy(update={"test": task.test[:-1]}),
        task.model_copy(update={"max_tokens": task.max_tokens + 1}),
    ]
    hashes = {type(t).model_validate(t.model_dump()).content_hash for t in (task, *others)}
    assert len(hashes) == 4


def test_prompts_follow_role_and_predecessors() -> None:
    prompts = load_task("arithmetic").prompts
    assert prompts.render(Role.ASSISTANT, "1+2", []) == "Q 1+2\nA "
    assert prompts.render(Role.FUSER, "1+2", []) == "Q 1+2\nA "
    assert prompts.render(Role.ASSISTANT, "1+2", ["1+2=3"]) == "Q 1+2\nR 1+2=3\nA "
    assert prompts.render(Role.FUSER, "1+2", ["x", "y"]) == "Q 1+2\nF x\nF y\nA "


def test_markup_in_an_answer_is_left_alone() -> None:
    template = PromptTemplate(question="{question}|", predecessor="{answer}|", ending="{answer}")
    assert (
        template.render("{answer}", ["{question}{answer}"])
        == "{answer}|{question}{answer}|{answer}"
    )


def test_unknown_names_are_told_what_is_known() -> None:
    with pytest.raises(UnknownTask, match="arithmetic"):
        load_task("nonsense")
    with pytest.raises(UnknownPool, match="pocket"):
        load_pool("../pocket")


@pytest.mark.parametrize("name", pool_names())
def test_pools_load(name: str) -> None:
    assert load_pool(name).name == name


def test_a_faulty_pool_file_names_the_fault(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "p.toml"
    path.write_text('name = "p"\n[[models]]\nname = "m"\nfamily = "f"\n')
    with pytest.raises(InvalidPoolFile, match="parameters"):
        read_pool(path)


def test_the_pocket_pool_describes_the_weights_that_are_served() -> None:
    folder = LocalSettings().pocket / "weights"
    for card in load_pool("pocket").models:
        weights = (folder / card.name / "model.safetensors").read_bytes()
        config = json.loads((folder / card.name / "config.json").read_text())
        assert card.revision == sha256(weights).hexdigest()[:16]
        assert card.layers == config["num_hidden_layers"]
        assert card.hidden_size == config["hidden_size"]
        assert card.context == config["max_position_embeddings"]
