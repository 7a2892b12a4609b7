"""Refuse requests whose body is too large or does not arrive in time."""

import asyncio
import json
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Middleware that reads the whole body before the application; it counts bytes and ignores the length header.

    Args:
        app: The application.
        largest: Maximum size of a body in bytes.
        of_paths: Other maximum sizes, by path.
        seconds: Maximum time until the body has arrived.
    """

    def __init__(
        self, app: ASGIApp, *, largest: int, seconds: float, of_paths: Mapping[str, int] | None = None
    ) -> None:
        self._app = app
        self._largest = largest
        self._of_paths = of_paths or {}
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        largest = self._of_paths.get(scope["path"], self._largest)
        try:
            async with asyncio.timeout(self._seconds):
                body = await _read(receive, largest)
        except TimeoutError:
            await _refuse(send, 408, f"the body did not arrive within {self._seconds:g} s")
            return
        if body is None:  # nobody reads this answer, but the layers around expect one, and it is counted
            await _refuse(send, 499, "the client has closed the connection")
            return
        if len(body) > largest:
            await _refuse(send, 413, f"at most {largest} bytes are read")
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)


async def _read(receive: Receive, largest: int) -> bytes | None:
    """Return the body, or the beginning of one that is too large; None if the client has disconnected."""
    body = bytearray()
    more = True
    while more and len(body) <= largest:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
