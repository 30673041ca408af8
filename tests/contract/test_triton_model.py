"""TritonModel against a real Triton: the pocket models, and models scripted for the odd cases."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from time import perf_counter
from typing import Any

import pytest

from graphwright.inference.catalog import open_models
from graphwright.inference.port import (
    ContractMismatch,
    DeadlineExceeded,
    LanguageModel,
    ModelUnavailable,
    RequestRejected,
)
from graphwright.inference.triton import TritonChannel, TritonModel
from graphwright.local.servers import TritonServer
from graphwright.local.servers import triton as triton_server
from graphwright.pools.pool import load_pool
from graphwright.search.calls import Completion, Sampling

from .model_suite import LanguageModelSuite
from .scripted_repository import write_repository

SAMPLING = Sampling(temperature=0.5, top_p=0.75, top_k=3, max_tokens=7, stop=("END",))


@pytest.mark.parametrize("packed", [1, 64], ids=["one by one", "packed"], scope="class")
class TestTritonModel(LanguageModelSuite):
    @pytest.fixture
    async def model(self, triton: TritonServer, packed: int) -> AsyncIterator[LanguageModel]:
        model = TritonModel(TritonChannel(triton.grpc_url), "abacus-55k", client_batch=packed)
        yield model
        await model.close()

    def too_long(self) -> str:
        return "Q " + "1+" * 3000 + "1\nA "

    def tokens(self, text: str) -> int:
        return len(text)  # the pocket models read characters


async def test_a_pool_opens_a_model_per_card_on_one_channel(triton: TritonServer) -> None:
    models = open_models(load_pool("pocket"), triton.grpc_url)
    assert sorted(models) == ["abacus-150k", "abacus-440k", "abacus-55k"]
    answers = await asyncio.gather(
        *(m.complete("Q 1+2\nA ", SAMPLING, seed=1, timeout=60) for m in models.values())
    )
    assert [answer.prompt_tokens for answer in answers] == [8, 8, 8]
    for model in models.values():
        await model.close()


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TritonServer]:
    """Triton with the scripted models."""
    folder = tmp_path_factory.mktemp("scripted")
    async with triton_server(folder, write_repository(folder / "models")) as running:
        yield running


Opener = Callable[..., TritonModel]


@pytest.fixture
async def opened(server: TritonServer) -> AsyncIterator[Opener]:
    """Opens scripted models by name and closes them after the test."""
    models: list[TritonModel] = []

    def open_model(name: str, **options: Any) -> TritonModel:
        models.append(TritonModel(TritonChannel(server.grpc_url), name, **options))
        return models[-1]

    yield open_model
    for model in models:
        await model.close()


async def seen(model: TritonModel, prompt: str = "hello", seed: int = 9) -> dict[str, Any]:
    """What the scripted model saw of a call."""
    answer = await model.complete(prompt, SAMPLING, seed=seed, timeout=30)
    arrived: dict[str, Any] = json.loads(answer.text)
    return arrived


async def test_every_sampling_parameter_arrives(opened: Opener) -> None:
    arrived = await seen(opened("current"), seed=2**63 - 1)
    assert arrived == {
        "max_tokens": [7],
        "temperature": [0.5],
        "top_p": [0.75],
        "top_k": [3],
        "stop_words": ["end"],
        "seed": [2**63 - 1],
        "exclude_input_in_output": [True],
        "return_num_input_tokens": [True],
        "return_num_output_tokens": [True],
        "rows": 1,
        "given_up": 0,
    }


async def test_greedy_is_sent_as_one_candidate_and_no_stop_as_an_empty_string(
    opened: Opener,
) -> None:
    greedy = Sampling(temperature=0, max_tokens=9)
    answer = await opened("current").complete("hello", greedy, seed=1, timeout=30)
    arrived = json.loads(answer.text)
    assert (arrived["top_k"], arrived["temperature"]) == ([1], [1.0])
    assert arrived["stop_words"] == [""]
    assert (answer.output_tokens, answer.finish_reason) == (3, "stop")


async def test_an_older_release_gets_its_seed_and_its_echo_is_cut_off(opened: Opener) -> None:
    arrived = await seen(opened("older"), seed=11)
    assert arrived["random_seed"] == [11]


async def test_a_stop_string_that_the_server_missed_is_cut_off(opened: Opener) -> None:
    answer = await opened("current").complete("stop", SAMPLING, seed=1, timeout=30)
    assert answer.text.endswith("} ")
    assert answer.finish_reason == "stop"


async def test_missing_tensors_are_named(opened: Opener) -> None:
    model = opened("lacking")
    for attempt in (model.check(), seen(model)):
        with pytest.raises(
            ContractMismatch, match="input stop_words, input seed, output num_output_tokens"
        ):
            await attempt


async def test_a_model_without_a_batch_dimension_is_a_mismatch(opened: Opener) -> None:
    with pytest.raises(ContractMismatch, match="batch dimension"):
        await opened("unbatched").check()


async def test_an_unknown_model_is_named(opened: Opener) -> None:
    with pytest.raises(ContractMismatch, match="nobody"):
        await opened("nobody").check()


async def test_concurrent_calls_ride_in_one_request(opened: Opener) -> None:
    model = opened("current", client_batch=8, in_flight=1)
    arrived = await asyncio.gather(*(seen(model, seed=seed) for seed in range(16)))
    assert [call["rows"] for call in arrived] == [8] * 16
    assert [call["seed"] for call in arrived] == [[seed] for seed in range(16)]


async def test_packing_respects_what_the_server_takes(opened: Opener) -> None:
    model = opened("narrow", client_batch=8)
    await model.check()
    arrived = await asyncio.gather(*(seen(model, seed=seed) for seed in range(6)))
    assert [call["rows"] for call in arrived] == [2] * 6


async def test_calls_with_other_stop_strings_ride_apart(opened: Opener) -> None:
    model = opened("current", client_batch=8)
    await model.check()
    samplings = [SAMPLING, SAMPLING.model_copy(update={"stop": ("END", "FIN")})]
    answers = await asyncio.gather(
        *(model.complete("hello", samplings[i % 2], seed=i, timeout=30) for i in range(6))
    )
    assert [json.loads(answer.text)["rows"] for answer in answers] == [3] * 6


@pytest.mark.parametrize("command", ["boom", "refused"])
async def test_a_row_that_the_model_cannot_serve_fails_alone(opened: Opener, command: str) -> None:
    model = opened("current", client_batch=8)
    await model.check()
    results = await asyncio.gather(
        *(model.complete(p, SAMPLING, seed=1, timeout=30) for p in ["a", command, "b", "c"]),
        return_exceptions=True,
    )
    rejected = results.pop(1)
    assert isinstance(rejected, RequestRejected)
    assert command in rejected.reason
    assert all(isinstance(result, Completion) for result in results)


async def test_a_cancelled_call_is_cancelled_on_the_server(opened: Opener) -> None:
    model = opened("current", client_batch=8)
    before = (await seen(model))["given_up"]
    call = asyncio.create_task(seen(model, "slow"))
    await asyncio.sleep(0.2)
    call.cancel()
    started = perf_counter()
    # The model serves one request at a time: it answers this one when it has let go of the other.
    assert (await seen(model))["given_up"] == before + 1
    assert perf_counter() - started < 2


async def test_a_deadline_ends_the_work_on_the_server(opened: Opener) -> None:
    model = opened("current")
    before = (await seen(model))["given_up"]
    started = perf_counter()
    with pytest.raises(DeadlineExceeded):
        await model.complete("slow", SAMPLING, seed=1, timeout=0.3)
    assert (await seen(model))["given_up"] == before + 1
    assert perf_counter() - started < 2


async def test_a_server_that_is_gone_is_unavailable_at_once_and_found_again(
    server: TritonServer, opened: Opener
) -> None:
    model = opened("current", client_batch=8)
    await seen(model)
    await server.end()
    started = perf_counter()
    gone = await asyncio.gather(*(seen(model) for _ in range(12)), return_exceptions=True)
    assert all(isinstance(result, ModelUnavailable) for result in gone)
    with pytest.raises(ModelUnavailable):
        await model.check()
    assert perf_counter() - started < 2
    await server.start()
    assert (await _patiently(model))["seed"] == [9]


async def _patiently(model: TritonModel) -> dict[str, Any]:
    """Ask until the connection is back, for at most ten seconds."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await seen(model)
            except ModelUnavailable:
                await asyncio.sleep(0.1)


async def test_nobody_listening_is_unavailable() -> None:
    model = TritonModel(TritonChannel("127.0.0.1:1"), "anything")
    with pytest.raises(ModelUnavailable):
        await model.complete("hello", SAMPLING, seed=1, timeout=30)
    await model.close()
