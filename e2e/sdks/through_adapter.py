"""A plugin of pytest: the Streamable HTTP arms of the Python SDK's interaction suite go through the adapter.

ADAPTER_URL is where its clients connect to; UPSTREAM_PORT is the port of 127.0.0.1 where the adapter expects the server,
which each test brings itself. What is not named here stays the suite's own.
"""

import contextlib
import functools
import os
import uuid

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from tests.interaction import _connect
from upstream_server import served

ADAPTER_URL = os.environ["ADAPTER_URL"]


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
