"""The models of a pool, ready to be called."""

from graphwright.inference.port import LanguageModel
from graphwright.inference.triton import TritonChannel, TritonModel
from graphwright.pools.pool import ModelCard, ModelPool

PACKED_IN_FLIGHT = 2
"""Requests under way to a model whose prompts are packed: one computed, one waiting behind it."""


def open_models(pool: ModelPool, triton_url: str) -> dict[str, LanguageModel]:
    """One model per card, by the card's name; all share one channel, opened at the first call.

    `triton_url` is host:port of the server's gRPC endpoint.
    """
    channel = TritonChannel(triton_url)
    return {card.name: _open(card, channel) for card in pool.models}


def _open(card: ModelCard, channel: TritonChannel) -> TritonModel:
    return TritonModel(
        channel,
        card.name,
        endpoint=card.endpoint,
        client_batch=card.client_batch,
        in_flight=card.max_concurrency if card.client_batch == 1 else PACKED_IN_FLIGHT,
    )
