"""A plugin of pytest: the Streamable HTTP arms of the Python SDK's interaction suite go through the adapter.

ADAPTER_URL is where its clients connect to; UPSTREAM_PORT is the port of 127.0.0.1 where the adapter expects the server,
which each test brings itself. What is not named here stays the suite's own.
"""

import contextlib
import functools
import os
import socket
import uuid

import anyio
import httpx2
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from tests.interaction import _connect

ADAPTER_URL = os.environ["ADAPTER_URL"]
UPSTREAM_PORT = int(os.environ["UPSTREAM_PORT"])


class QuietServer(uvicorn.Server):
    def capture_signals(self):
        return contextlib.nullcontext()


@contextlib.asynccontextmanager
async def served(app):
    """The app on the adapter's upstream port."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", UPSTREAM_PORT))
        config = uvicorn.Config(app, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
        server = QuietServer(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(functools.partial(server.serve, sockets=[listening]))
            while not server.started:
                await anyio.sleep(0.005)
            try:
                yield
            finally:
                server.should_exit = True
                server.force_exit = True
                # A kept connection would lead to this server when the next one has its port.
                for connection in list(server.server_state.connections):
                    connection.transport.close()


@contextlib.asynccontextmanager
async def through_adapter(
    server,
    *,
    stateless_http=False,
    json_response=False,
    event_store=None,
    retry_interval=None,
    spec_version=_connect.LATEST_HANDSHAKE_VERSION,
    **of_client,
):
    app = server.streamable_http_app(
        stateless_http=stateless_http,
        json_response=json_response,
        event_store=event_store,
        retry_interval=retry_interval,
        transport_security=_connect.NO_DNS_REBINDING_PROTECTION,
    )
    # The servers of two tests are two authorization contexts to whoever keeps lists.
    headers = {"x-suite-server": uuid.uuid4().hex}
    mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
    async with (
        server.session_manager.run(),
        served(app),
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(ADAPTER_URL, http_client=http), mode=mode, **of_client) as client,
    ):
        yield client


_connect.connect_over_streamable_http = through_adapter
_connect.connect_over_streamable_http_stateless = functools.partial(through_adapter, stateless_http=True)


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"
