"""Lists the tools of a server twice in a session for each form, which is the version of the client, and prints what it saw."""

import asyncio
import json
import logging
import sys

from mcp import ClientSession
from mcp.types import Implementation

try:
    from mcp.client.streamable_http import streamable_http_client as connect
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as connect

logging.disable(logging.CRITICAL)


async def seen(url: str, form: int) -> list[list[str]]:
    listed: list[list[str]] = []
    try:
        async with asyncio.timeout(20), connect(url) as streams:
            info = Implementation(name="hostile", version=str(form))
            async with ClientSession(streams[0], streams[1], client_info=info) as session:
                await session.initialize()
                for _ in range(2):
                    tools = (await asyncio.wait_for(session.list_tools(), 10)).tools
                    listed.extend([tool.name, tool.description or ""] for tool in tools)
    except BaseException as error:
        print(f"{form}: {error!r}", file=sys.stderr)
    return listed


async def main() -> None:
    url, forms = sys.argv[1], int(sys.argv[2])
    for form in range(forms):
        print(json.dumps({"form": form, "seen": await seen(url, form)}), flush=True)


asyncio.run(main())
