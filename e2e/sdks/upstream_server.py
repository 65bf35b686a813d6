"""Serves one ASGI app after the other on the port of 127.0.0.1 that the adapter takes for its upstream."""

import contextlib
import functools
import os
import socket

import anyio
import uvicorn

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
                for listener in server.servers:
                    listener.close()
                # A kept connection would lead to this server when the next one has its port.
                for connection in list(server.server_state.connections):
                    connection.transport.close()
                # Its own end waits for the next of its ticks, ten of which are a second.
                tasks.cancel_scope.cancel()
