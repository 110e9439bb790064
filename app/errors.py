"""What can go wrong in our own work: a code for programs, a sentence for the reader.

A reader's program that raises, runs too long or crashes is a result, not one of these.
HTTP status codes live in `web/problems`, not here.
"""

from typing import ClassVar


class AppError(Exception):
    """The base of every error that a reader may be shown."""

    code: ClassVar[str]
    """Stable name for programs, in kebab-case. Every child sets its own."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PoolBusy(AppError):
    """Every sandbox is running a program, and the queue, or this client's share of it, is full."""

    code = "busy"

    def __init__(self, waiting: int, retry_after_s: int, *, of_yours: int | None = None) -> None:
        again = f"Try again in {'a second' if retry_after_s == 1 else f'{retry_after_s} seconds'}."
        super().__init__(
            f"Every sandbox is busy and {waiting} programs are already waiting. {again}"
            if of_yours is None
            else f"Every sandbox is busy and {of_yours} programs from your address are already waiting, "
            f"which is all that one may have while others wait too. {again}"
        )
        self.retry_after_s = retry_after_s
        self.limit = of_yours


class RequestTooSlow(AppError):
    """The body of a request did not arrive in time."""

    code = "request-too-slow"

    def __init__(self, limit_s: float) -> None:
        super().__init__(
            f"The request did not arrive within {limit_s:g} seconds. Check the connection and send it again."
        )


class SandboxRestarting(AppError):
    """The process that forks sandboxes is starting, or has just died."""

    code = "sandbox-restarting"

    def __init__(self) -> None:
        super().__init__("The sandbox is restarting. Try again in a few seconds.")
        self.retry_after_s = 3


class SandboxUnavailable(AppError):
    """This machine cannot confine a program, so none is run."""

    code = "sandbox-unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__(f"Programs cannot be run here: {reason}")
        self.reason = reason


class NotFromHere(AppError):
    """Programs run without a sandbox here, and the request does not come from this machine's own reader."""

    code = "loopback-only"

    def __init__(self) -> None:
        super().__init__(
            "This server runs programs without a sandbox and answers its own machine only, at "
            "http://127.0.0.1 or http://localhost, and no other site's pages."
        )


class FromAnotherSite(AppError):
    """A page of another site asks for a run, from the browser of somebody who reads it."""

    code = "other-site"

    def __init__(self) -> None:
        super().__init__(
            "Pages of other sites may run programs here only where the operator of this server names them "
            "(API_ORIGINS). Embed a program instead, or open it in the playground."
        )


class ReplyInvalid(AppError):
    """Bytes from a sandbox are not a valid part of a trace."""

    code = "reply-invalid"

    def __init__(self, fault: str) -> None:
        super().__init__(f"The sandbox's reply made no sense: {fault}")
        self.fault = fault


class SourceTooLarge(AppError):
    """The program is longer than the server accepts."""

    code = "source-too-large"

    def __init__(self, size_bytes: int | None, limit_bytes: int) -> None:
        has = "Your program" if size_bytes is None else f"Your program has {size_bytes:,} bytes, which"
        super().__init__(
            f"{has} is too long: at most {limit_bytes:,} bytes can be traced. "
            "Keep the lines that show the problem and remove the rest."
        )
        self.limit = limit_bytes


class RequestInvalid(AppError):
    """A request is not what the route expects."""

    code = "invalid-request"


class DeviceUnavailable(AppError):
    """A device was asked for that this server does not have."""

    code = "device-unavailable"

    def __init__(self, device: str, available: tuple[str, ...], reason: str | None = None) -> None:
        why = "" if reason is None else f": {reason}"
        super().__init__(
            f"The device {device!r} is not available here{why}. Choose one of: auto, {', '.join(available)}."
        )
        self.device = device
        self.reason = reason
