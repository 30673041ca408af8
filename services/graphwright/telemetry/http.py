"""The HTTP endpoint of a service: /metrics, /healthz and /readyz.

`/healthz` answers 200 as long as the event loop runs; a dependency that is down must not get a
live process restarted. `/readyz` answers 200, or 503 with a JSON list of the reasons why not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self

from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

Reasons = Callable[[], Awaitable[Sequence[str]]]


class HttpEndpoint:
    """Serves metrics and health while entered; port 0 takes a free one.

    `reasons` says what the service lacks to do its work (nothing = ready); not answering within
    `readiness_seconds` is a reason too.
    """

    def __init__(
        self,
        port: int,
        reasons: Reasons,
        *,
        host: str = "0.0.0.0",  # noqa: S104 - probes and Prometheus come from outside the container
        readiness_seconds: float = 5.0,
    ) -> None:
        self._wanted_port = port
        self._host = host
        self._reasons = reasons
        self._readiness_seconds = readiness_seconds
        application = web.Application()
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)

    @property
    def port(self) -> int:
        """The port that is listened on, once entered."""
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._wanted_port)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(REGISTRY), headers={"Content-Type": content_type})

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        reasons = await self._reasons_in_time()
        return web.json_response(reasons, status=503 if reasons else 200)

    async def _reasons_in_time(self) -> list[str]:
        try:
            async with asyncio.timeout(self._readiness_seconds):
                return list(await self._reasons())
        except TimeoutError:
            return [f"the readiness check took longer than {self._readiness_seconds:g} s"]
