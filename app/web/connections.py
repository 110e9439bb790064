"""How patient the server is with a connection: with headers that trickle in, and with answers nobody reads.

uvicorn bounds neither: a connection that never says anything, or that sends a header a minute, is held for
ever, and so is an answer to a client that has stopped reading. Bodies are for `bodies`; how many programs a
client may have is for the runner. A sandbox is never held by a connection.
"""

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

MOST_HEADER_BYTES = 32 * 1024
KEEP_ALIVE_S = 10

_READING_TIMES = 3
"""A slow line is slower down than up: an answer has some 50 kB in flight, a request a few."""


def patient(limit_s: float) -> type[H11Protocol]:
    """The protocol of a server that waits so long and no longer.

    Args:
        limit_s: Seconds for the headers of a request, from the first moment of the connection or the first
            byte after the last answer. Three times as long for a client to read again once it has stopped.
    """

    class Patient(H11Protocol):
        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, app_state, _loop)
            self._headers_due: asyncio.TimerHandle | None = None
            self._reading_due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._headers_due = self.loop.call_later(limit_s, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            for due in (self._headers_due, self._reading_due):
                if due is not None:
                    due.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._is_answering():
                if self._headers_due is not None:
                    self._headers_due.cancel()
                    self._headers_due = None
            elif self._headers_due is None and not self.transport.is_closing():
                self._headers_due = self.loop.call_later(limit_s, self._headers_are_late)

        def _headers_are_late(self) -> None:
            self._headers_due = None
            if not self._is_answering():
                self.transport.abort()

        def _is_answering(self) -> bool:
            cycle: RequestResponseCycle | None = self.cycle  # None before the first request
            return cycle is not None and not cycle.response_complete

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._reading_due is None:
                self._reading_due = self.loop.call_later(_READING_TIMES * limit_s, self.transport.abort)

        def resume_writing(self) -> None:
            if self._reading_due is not None:
                self._reading_due.cancel()
                self._reading_due = None
            super().resume_writing()

    return Patient
