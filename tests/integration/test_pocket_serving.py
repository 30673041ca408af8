"""The pocket models behind a real Triton: the engine dialect as its clients see it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tritonclient.grpc import InferInput
from tritonclient.grpc.aio import InferenceServerClient, InferResult
from tritonclient.utils import InferenceServerException

from graphwright.local.servers import TritonServer
from graphwright.tasks import arithmetic

sys.path.insert(0, str(Path(__file__).parents[2] / "infra" / "triton" / "pocket"))

from engine import Engine, Request

POCKET = Path(__file__).parents[2] / "infra" / "triton" / "pocket"
MODELS = ("abacus-55k", "abacus-150k", "abacus-440k")
PROMPTS = [f"Q {question}\nA " for question, _ in arithmetic.questions(77, 24)]


@pytest.fixture(scope="module")
async def client(triton: TritonServer) -> AsyncIterator[InferenceServerClient]:
    async with InferenceServerClient(triton.grpc_url) as opened:
        yield opened


def _input(name: str, kind: str, values: NDArray[np.generic]) -> InferInput:
    tensor = InferInput(name, list(values.shape), kind)
    tensor.set_data_from_numpy(values)
    return tensor


def _inputs(
    prompts: Sequence[str], seeds: Sequence[int], limit: int = 64, echo: bool = False
) -> list[InferInput]:
    rows = (len(prompts), 1)
    return [
        _input("text_input", "BYTES", np.array([[p.encode()] for p in prompts], np.object_)),
        _input("max_tokens", "INT32", np.full(rows, limit, np.int32)),
        _input("temperature", "FP32", np.full(rows, 0.9, np.float32)),
        _input("top_k", "INT32", np.zeros(rows, np.int32)),
        _input("top_p", "FP32", np.ones(rows, np.float32)),
        _input("seed", "UINT64", np.array(seeds, np.uint64).reshape(rows)),
        _input("stop_words", "BYTES", np.full(rows, b"\n", np.object_)),
        _input("exclude_input_in_output", "BOOL", np.full(rows, not echo)),
    ]


def _texts(result: InferResult) -> list[str]:
    return [text.decode() for text in result.as_numpy("text_output").reshape(-1)]


@pytest.mark.parametrize("model", MODELS)
async def test_triton_returns_what_the_engine_computes(
    client: InferenceServerClient, model: str
) -> None:
    requests = [Request(p, 64, temperature=0.9, seed=i) for i, p in enumerate(PROMPTS)]
    expected = Engine(POCKET / "weights" / model).complete(requests)
    result = await client.infer(model, _inputs(PROMPTS, range(len(PROMPTS))))
    assert _texts(result) == [done.text for done in expected]
    for name in ("num_input_tokens", "num_output_tokens"):
        assert result.as_numpy(name).shape == (len(PROMPTS), 1)
    assert result.as_numpy("num_output_tokens")[:, 0].tolist() == [
        done.output_tokens for done in expected
    ]


async def test_packing_prompts_changes_no_answer(client: InferenceServerClient) -> None:
    packed = _texts(await client.infer(MODELS[0], _inputs(PROMPTS, range(len(PROMPTS)))))
    alone = await asyncio.gather(
        *(client.infer(MODELS[0], _inputs([p], [i])) for i, p in enumerate(PROMPTS))
    )
    assert [_texts(result)[0] for result in alone] == packed


async def test_the_prompt_comes_back_unless_excluded(client: InferenceServerClient) -> None:
    echoed = _texts(await client.infer(MODELS[0], _inputs(PROMPTS[:1], [1], echo=True)))
    bare = _texts(await client.infer(MODELS[0], _inputs(PROMPTS[:1], [1])))
    assert echoed == [PROMPTS[0] + bare[0]]


async def test_two_inputs_are_enough(client: InferenceServerClient) -> None:
    result = await client.infer(MODELS[0], _inputs(PROMPTS[:1], [0], limit=5)[:2])
    assert len(_texts(result)[0]) == len(PROMPTS[0]) + 5


@pytest.mark.parametrize(
    ("prompt", "limit", "named"), [("1" * 2000, 64, "text_input"), (PROMPTS[0], 0, "max_tokens")]
)
async def test_a_bad_request_fails_alone(
    client: InferenceServerClient, prompt: str, limit: int, named: str
) -> None:
    good = [client.infer(MODELS[0], _inputs([p], [1])) for p in PROMPTS[:8]]
    bad = client.infer(MODELS[0], _inputs([prompt], [1], limit))
    *answers, error = await asyncio.gather(*good, bad, return_exceptions=True)
    assert all(_texts(answer)[0] for answer in answers)
    assert isinstance(error, InferenceServerException)
    assert error.status() == "StatusCode.INVALID_ARGUMENT"
    assert named in error.message()


async def test_text_that_is_not_utf8_is_refused(client: InferenceServerClient) -> None:
    inputs = _inputs([""], [1])
    inputs[0] = _input("text_input", "BYTES", np.array([[b"\xff\xfe"]], np.object_))
    with pytest.raises(InferenceServerException, match="INVALID_ARGUMENT"):
        await client.infer(MODELS[0], inputs)


async def test_a_client_that_leaves_does_no_harm(client: InferenceServerClient) -> None:
    slow = _inputs(["Q " + "1+" * 100] * 64, range(64), limit=500)
    task = asyncio.create_task(client.infer(MODELS[2], slow))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await client.infer(MODELS[2], _inputs(PROMPTS[:2], [1, 2]), client_timeout=30)
    assert all(_texts(result))
