"""How a service stops: the first signal asks it to finish, the second ends it at once."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def run_until_signal(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Await `main(stopping)`; SIGTERM or SIGINT sets `stopping`, upon which it should return.

    A second signal exits at once with status 128 + its number, as a shell reports a killed
    process. Signals are handled as before once `main` is done. Main thread only.
    """
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def on_signal(number: signal.Signals) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        stopping.set()

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        await main(stopping)
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
