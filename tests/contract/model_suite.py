"""What every language model promises; bind it to an adapter with the fixture `model`."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from time import perf_counter

import pytest

from graphwright.inference.port import DeadlineExceeded, LanguageModel, RequestRejected
from graphwright.search.calls import Completion, Sampling

QUESTIONS = [f"Q {10 + i}+{90 - i}-{i}\nA " for i in range(64)]


class LanguageModelSuite(ABC):
    """Tests of the port; subclasses say how to reach a real model."""

    sampling = Sampling(max_tokens=24, stop=("\n",))

    @pytest.fixture
    @abstractmethod
    async def model(self) -> AsyncIterator[LanguageModel]:
        """A model that works."""
        yield NotImplemented

    @abstractmethod
    def too_long(self) -> str:
        """A prompt beyond the model's context."""

    @abstractmethod
    def tokens(self, text: str) -> int:
        """How many tokens the model makes of a text."""

    async def ask(self, model: LanguageModel, prompt: str, seed: int) -> Completion:
        """Complete with the suite's sampling parameters and a generous deadline."""
        return await model.complete(prompt, self.sampling, seed=seed, timeout=60)

    async def test_it_passes_its_own_check(self, model: LanguageModel) -> None:
        await model.check()

    async def test_a_text_does_not_depend_on_what_else_is_under_way(
        self, model: LanguageModel
    ) -> None:
        together = await asyncio.gather(
            *(self.ask(model, prompt, seed) for seed, prompt in enumerate(QUESTIONS))
        )
        alone = [await self.ask(model, QUESTIONS[seed], seed) for seed in range(0, 64, 7)]
        assert [answer.text for answer in alone] == [answer.text for answer in together[::7]]

    async def test_rows_of_one_request_keep_their_own_parameters(
        self, model: LanguageModel
    ) -> None:
        samplings = [
            Sampling(temperature=heat, top_p=p, top_k=k, max_tokens=limit, stop=("\n",))
            for heat, p, k, limit in [
                (0.0, 1, 0, 9),
                (1.5, 1, 0, 20),
                (0.9, 0.3, 0, 4),
                (2, 1, 3, 16),
            ]
        ]
        together = await asyncio.gather(
            *(model.complete(QUESTIONS[0], s, seed=3, timeout=60) for s in samplings)
        )
        for sampling, answer in zip(samplings, together, strict=True):
            alone = await model.complete(QUESTIONS[0], sampling, seed=3, timeout=60)
            assert (alone.text, alone.output_tokens) == (answer.text, answer.output_tokens)

    async def test_seeds_draw_different_texts(self, model: LanguageModel) -> None:
        sampling = Sampling(temperature=2.0, max_tokens=24)
        answers = await asyncio.gather(
            *(model.complete(QUESTIONS[0], sampling, seed=2**62 + s, timeout=60) for s in range(8))
        )
        # Two seeds may agree by chance; that half of them do not is all but certain.
        assert len({answer.text for answer in answers}) >= len(answers) // 2

    async def test_temperature_zero_ignores_the_seed(self, model: LanguageModel) -> None:
        greedy = Sampling(temperature=0, max_tokens=24)
        answers = [
            await model.complete(QUESTIONS[1], greedy, seed=seed, timeout=60) for seed in (1, 2**60)
        ]
        assert answers[0].text == answers[1].text

    async def test_tokens_are_counted(self, model: LanguageModel) -> None:
        answer = await model.complete(QUESTIONS[2], Sampling(max_tokens=5), seed=1, timeout=60)
        assert answer.prompt_tokens == self.tokens(QUESTIONS[2])
        assert answer.output_tokens == self.tokens(answer.text) <= 5

    async def test_the_prompt_is_not_part_of_the_text(self, model: LanguageModel) -> None:
        answer = await self.ask(model, QUESTIONS[3], 1)
        assert not answer.text.startswith("Q ")

    async def test_the_limit_ends_a_text(self, model: LanguageModel) -> None:
        answer = await model.complete(QUESTIONS[4], Sampling(max_tokens=1), seed=1, timeout=60)
        assert (answer.output_tokens, answer.finish_reason) == (1, "length")

    async def test_a_stop_string_ends_a_text_and_is_left_out(self, model: LanguageModel) -> None:
        free = Sampling(max_tokens=24)
        text = (await model.complete(QUESTIONS[5], free, seed=4, timeout=60)).text
        stop = text[2:4]
        stopped = await model.complete(
            QUESTIONS[5], free.model_copy(update={"stop": (stop,)}), seed=4, timeout=60
        )
        assert stopped.text == text[: text.index(stop)]
        assert stopped.finish_reason == "stop"

    async def test_seconds_are_what_the_caller_waited(self, model: LanguageModel) -> None:
        started = perf_counter()
        answer = await self.ask(model, QUESTIONS[6], 1)
        waited = perf_counter() - started
        assert 0.5 * waited <= answer.seconds <= waited

    async def test_a_deadline_is_kept_and_the_model_goes_on(self, model: LanguageModel) -> None:
        started = perf_counter()
        with pytest.raises(DeadlineExceeded):
            await model.complete(QUESTIONS[7], self.sampling, seed=1, timeout=0.0001)
        assert perf_counter() - started < 0.5
        assert (await self.ask(model, QUESTIONS[7], 1)).prompt_tokens

    async def test_cancelled_callers_leave_the_others_alone(self, model: LanguageModel) -> None:
        calls = [asyncio.create_task(self.ask(model, p, 1)) for p in QUESTIONS[:16]]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in done[::2])
        assert all(isinstance(result, Completion) for result in done[1::2])

    async def test_too_long_a_prompt_is_rejected_alone(self, model: LanguageModel) -> None:
        prompts = [*QUESTIONS[:3], self.too_long(), *QUESTIONS[3:6]]
        results = await asyncio.gather(
            *(self.ask(model, prompt, 1) for prompt in prompts), return_exceptions=True
        )
        assert isinstance(results.pop(3), RequestRejected)
        assert all(isinstance(result, Completion) for result in results)
