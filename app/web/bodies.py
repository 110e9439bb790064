"""Reads the body of a request for a trace: capped before it is parsed, and parsed strictly, once.

Every fault of a body is a `RequestInvalid` with a sentence: not JSON, not UTF-8, a lone surrogate, too
deep, an unknown field. A program that does not compile is not a fault of the body.
"""

import asyncio

from pydantic import ValidationError
from starlette.requests import Request

from ..errors import RequestInvalid, RequestTooSlow, SourceTooLarge
from ..schema import TraceRequest

# JSON may write any byte of a source as six characters (\u0001); the rest of a body is small.
_ESCAPED = 6
_REST_BYTES = 4096

_SENTENCES = {
    "missing": "The field {field} is missing.",
    "extra_forbidden": "The field {field} is not known. Fields are: source, device, seed.",
    "string_type": "The field {field} must be text.",
    "int_type": "The field {field} must be a whole number.",
    "literal_error": "The field {field} must be one of: auto, cpu, cuda, simulated-cuda.",
    "model_type": 'The body must be a JSON object such as {{"source": "import torch"}}.',
}


async def read_trace_request(request: Request, source_bytes: int, limit_s: float) -> TraceRequest:
    """Read and check the body.

    Args:
        request: The request; its body has not been read.
        source_bytes: Longest program, in UTF-8.
        limit_s: Seconds within which all of it must have arrived.

    Raises:
        RequestTooSlow: It did not.
        SourceTooLarge: The program, or a body that could only hold one too large.
        RequestInvalid: Anything else that is wrong with the body.
    """
    try:
        async with asyncio.timeout(limit_s):
            body = await _capped_body(request, source_bytes)
    except TimeoutError as e:
        raise RequestTooSlow(limit_s) from e
    parsed = parse_trace_request(body)
    size = len(parsed.source.encode())
    if size > source_bytes:
        raise SourceTooLarge(size, source_bytes)
    return parsed


def parse_trace_request(body: bytes) -> TraceRequest:
    r"""Parse a body.

    Raises:
        RequestInvalid: With a sentence for the reader.

    >>> parse_trace_request(b'{"source": "x = 1\\n"}').seed
    0
    """
    try:
        body.decode()
    except UnicodeDecodeError as e:
        raise RequestInvalid(
            f"The body is not UTF-8: byte {e.start} (0x{body[e.start]:02x}) makes no sense."
        ) from e
    try:
        return TraceRequest.model_validate_json(body, strict=True)
    except ValidationError as e:
        raise RequestInvalid(_sentence(e)) from e


async def _capped_body(request: Request, source_bytes: int) -> bytes:
    longest = source_bytes * _ESCAPED + _REST_BYTES
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and len(announced) < 20 and int(announced) > longest:
        raise SourceTooLarge(None, source_bytes)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > longest:
            raise SourceTooLarge(None, source_bytes)
    return bytes(body)


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['msg'].removeprefix('Invalid JSON: ')}."
    if first["type"] in _SENTENCES:
        return _SENTENCES[first["type"]].format(field=repr(field))
    return f"The field {field!r} is not right: {first['msg']}."
