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
    """Every sandbox is running a program and the queue is full."""

    code = "busy"

    def __init__(self, waiting: int, retry_after_s: int) -> None:
        super().__init__(
            f"Every sandbox is busy and {waiting} programs are already waiting. "
            f"Try again in {retry_after_s} seconds."
        )
        self.retry_after_s = retry_after_s


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

    def __init__(self, device: str, available: tuple[str, ...]) -> None:
        super().__init__(
            f"The device {device!r} is not available here. Choose one of: auto, {', '.join(available)}."
        )
        self.device = device
