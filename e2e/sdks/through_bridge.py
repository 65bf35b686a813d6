"""As through_adapter, with servers that speak one family of revisions only, while the clients speak the other.

SERVERS says which: `newer` servers know 2026-07-28 alone, `older` ones want sessions.
"""

import json
import os

import through_adapter
from tests.interaction import _connect

SERVERS = os.environ["SERVERS"]
NEWEST = "2026-07-28"


def refusing(app):
    """The app without the other family of revisions."""

    async def refuses(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode()
        if (version >= NEWEST) == (SERVERS == "newer"):
            return await app(scope, receive, send)
        error = {"code": -32000, "message": f"Only {SERVERS} revisions are spoken here."}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    return refuses


served = through_adapter.served
through_adapter.served = lambda app: served(refusing(app))
_connect.connect_over_streamable_http = through_adapter.through_adapter
