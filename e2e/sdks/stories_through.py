"""A plugin of pytest: the Python SDK's example stories speak HTTP, and reach their server by way of FRONT_URL.

Each story brings its server, which listens on UPSTREAM_PORT; FRONT_URL is the adapter before it, or the server itself.
As an ingress would do it, only what belongs to the protected resource goes to the front: an authorization server that a
story has in the same app is reached beside it. What is not named here stays the suite's own.
"""

import contextlib
import os
import uuid

import httpx2
import pytest
from stories import _harness  # noqa: F401  (says at once when the stories are not there)
from tests.interaction.transports import _bridge
from upstream_server import UPSTREAM_PORT, served

FRONT = httpx2.URL(os.environ["FRONT_URL"])
UPSTREAM = httpx2.URL(f"http://127.0.0.1:{UPSTREAM_PORT}")
OF_THE_RESOURCE = ("/mcp", "/api", "/.well-known/oauth-protected-resource")


class IngressTransport(httpx2.AsyncBaseTransport):
    """In place of the suite's transport that calls the app in this process."""

    def __init__(self, app, **_):
        self.app = app
        # The servers of two stories are two authorization contexts to whoever keeps lists.
        self.server_id = uuid.uuid4().hex

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as opened:
            await opened.enter_async_context(served(self.app))
            self.http = await opened.enter_async_context(httpx2.AsyncHTTPTransport())
            self.opened = opened.pop_all()
        return self

    async def __aexit__(self, *error):
        await self.opened.__aexit__(*error)

    async def handle_async_request(self, request):
        to = FRONT if request.url.path.startswith(OF_THE_RESOURCE) else UPSTREAM
        # `Host` stays as the client has set it.
        request.url = request.url.copy_with(scheme=to.scheme, host=to.host, port=to.port)
        request.headers["x-suite-server"] = self.server_id
        # The transport that this replaces knows no time limits.
        request.extensions = {**request.extensions, "timeout": {}}
        return await self.http.handle_async_request(request)


_bridge.StreamingASGITransport = IngressTransport


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    if "leg" in metafunc.fixturenames:
        # "The same client body works unchanged over HTTP", says the manifest.
        metafunc.module.STORIES["parallel_calls"]["transports"] = ["http-asgi"]
