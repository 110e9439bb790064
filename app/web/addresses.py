"""How readers reach the server: the start of every absolute address we hand out."""

from starlette.requests import Request


def base_url(request: Request, public_url: str | None) -> str:
    """The address of the server, without a slash at the end.

    Args:
        request: Says how this reader reached it.
        public_url: What the settings say; it wins.
    """
    return public_url or str(request.base_url).rstrip("/")
