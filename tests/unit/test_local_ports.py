"""Ports: what is taken is noticed, what was asked for is kept, the rest gives way."""

import socket
from collections.abc import Iterator

import pytest

from graphwright.local.errors import PortTaken
from graphwright.local.ports import LOOPBACK, PortWish, choose, free_ports, is_taken


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_listener_takes_its_port(taken: int) -> None:
    assert is_taken(taken)
    assert not is_taken(free_ports(1)[0])


def test_a_listener_on_all_addresses_takes_its_port() -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))  # noqa: S104
        listener.listen()
        assert is_taken(listener.getsockname()[1])


def test_free_ports_are_distinct() -> None:
    assert len(set(free_ports(50))) == 50


def test_a_port_that_was_asked_for_is_kept_or_refused(taken: int) -> None:
    free, usual = free_ports(2)
    assert choose([PortWish("nats", "--nats-port", free, usual)]) == {"nats": free}
    with pytest.raises(PortTaken, match=f"port {taken} is taken.* --nats-port"):
        choose([PortWish("nats", "--nats-port", taken, usual)])


def test_the_usual_port_gives_way_where_it_is_taken(taken: int) -> None:
    (usual,) = free_ports(1)
    chosen = choose([PortWish("a", "--a", None, taken), PortWish("b", "--b", None, usual)])
    assert chosen["b"] == usual
    assert chosen["a"] not in {taken, usual}
    assert not is_taken(chosen["a"])


def test_one_port_serves_one_wish_only() -> None:
    asked, _ = free_ports(2)
    chosen = choose([PortWish("a", "--a", None, asked), PortWish("b", "--b", asked, 1)])
    assert chosen["b"] == asked != chosen["a"]
    with pytest.raises(PortTaken, match="--b"):
        choose([PortWish("a", "--a", asked, 1), PortWish("b", "--b", asked, 2)])
