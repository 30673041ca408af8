"""Models served by Triton Inference Server."""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from graphwright.inference.batcher import Batcher
from graphwright.inference.dialects import ENGINE, Contract, Dialect, agree, missing
from graphwright.inference.port import (
    ContractMismatch,
    DeadlineExceeded,
    LanguageModel,
    ModelError,
    ModelUnavailable,
    RequestRejected,
)
from graphwright.inference.tensors import Answer, Row, request_tensors, response_answers
from graphwright.inference.triton_errors import model_error
from graphwright.search.calls import Completion, Sampling

CHECK_SECONDS = 5.0

_CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A dead peer is noticed within half a minute even where no packet tells of it.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A restarted server is found again within seconds.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class TritonChannel:
    """A connection to one Triton server that its models share; opened when first used."""

    def __init__(self, url: str) -> None:
        """`url` is host:port of the gRPC endpoint."""
        self.url = url
        self._client: InferenceServerClient | None = None

    @property
    def client(self) -> InferenceServerClient:
        """The client; to be used from one event loop."""
        if self._client is None:
            self._client = InferenceServerClient(self.url, channel_args=_CHANNEL_OPTIONS)
        return self._client

    async def close(self) -> None:
        """Close the connection; using a model afterwards opens another."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class TritonModel(LanguageModel):
    """One model of a Triton server.

    Concurrent calls are packed into requests of up to `client_batch` prompts, of which up to
    `in_flight` are under way. What a prompt's answer is does not depend on the company it travels
    in: each row has its own sampling parameters and seed.
    """

    def __init__(
        self,
        channel: TritonChannel,
        name: str,
        *,
        endpoint: str = "",
        client_batch: int = 1,
        in_flight: int = 64,
        dialect: Dialect = ENGINE,
    ) -> None:
        """`name` is what errors call the model, `endpoint` what the server does (default: same)."""
        self.name = name
        self._channel = channel
        self._endpoint = endpoint or name
        self._dialect = dialect
        self._client_batch = client_batch
        self._contract: Contract | None = None
        self._probing = asyncio.Lock()
        self._batcher: Batcher[Row, Answer] = Batcher(
            self._send, limit=client_batch, in_flight=in_flight, group=lambda row: row.sampling.stop
        )

    async def complete(
        self, prompt: str, sampling: Sampling, *, seed: int, timeout: float
    ) -> Completion:
        """See the port; `seconds` is what the caller waited, packing included."""
        started = perf_counter()
        row = Row(prompt, sampling, seed, asyncio.get_running_loop().time() + timeout)
        try:
            async with asyncio.timeout(timeout):
                await self._agreed()
                answer = await self._batcher.submit(row)
        except TimeoutError:
            raise DeadlineExceeded(self.name, f"no answer within {timeout:g} s") from None
        return Completion(
            text=answer.text,
            prompt_tokens=answer.prompt_tokens,
            output_tokens=answer.output_tokens,
            seconds=perf_counter() - started,
            finish_reason=answer.finish_reason,
        )

    async def check(self) -> None:
        """Look at the server anew: reachable, model loaded, all tensors there."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                self._contract = await self._probe()
        except TimeoutError:
            raise DeadlineExceeded(self.name, f"no answer within {CHECK_SECONDS:g} s") from None

    async def close(self) -> None:
        """Give up what is under way and close the channel, which other models may share."""
        await self._batcher.close()
        await self._channel.close()

    async def _agreed(self) -> Contract:
        if self._contract is None:
            async with self._probing:
                self._contract = self._contract or await self._probe()
        return self._contract

    async def _probe(self) -> Contract:
        """Ask the server for the model's tensors.

        Raises:
            ModelError: the server is away, does not know the model, or the model lacks tensors.
        """
        client = self._channel.client
        try:
            metadata = await client.get_model_metadata(self._endpoint)
            answer = await client.get_model_config(self._endpoint)
        except InferenceServerException as error:
            raise model_error(self.name, error) from error
        inputs = {tensor.name for tensor in metadata.inputs}
        lacking = missing(self._dialect, inputs, {tensor.name for tensor in metadata.outputs})
        if lacking:
            raise ContractMismatch(self.name, f"the served model lacks {', '.join(lacking)}")
        if answer.config.max_batch_size < 1:
            raise ContractMismatch(self.name, "the served model has no batch dimension")
        contract = agree(self._dialect, inputs, answer.config.max_batch_size)
        self._batcher.limit = min(self._client_batch, contract.max_rows)
        return contract

    async def _send(self, rows: Sequence[Row]) -> Sequence[Answer | ModelError]:
        """One request; each row has its answer or its own error."""
        try:
            contract = await self._agreed()
            return await self._infer(contract, rows)
        except InferenceServerException as error:
            failure = model_error(self.name, error)
        except ModelError as error:
            failure = error
        if isinstance(failure, RequestRejected) and len(rows) > 1:
            # One row that the server refuses must not fail the others.
            alone = await asyncio.gather(*(self._send([row]) for row in rows))
            return [answer for answers in alone for answer in answers]
        if isinstance(failure, ModelUnavailable):
            self._contract = None  # what comes back may be another release
        return [type(failure)(self.name, failure.reason) for _ in rows]

    async def _infer(self, contract: Contract, rows: Sequence[Row]) -> Sequence[Answer]:
        patience = max(row.deadline for row in rows) - asyncio.get_running_loop().time()
        result = await self._channel.client.infer(
            self._endpoint, request_tensors(contract, rows), client_timeout=max(patience, 0.001)
        )
        return response_answers(contract, rows, result)
