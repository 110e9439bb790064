"""Under which name a result is kept: everything a trace depends on, as one hash."""

import hashlib
import json
from pathlib import Path

from ..schema import Limits, TraceRequest

PACKAGE = Path(__file__).resolve().parent.parent


def key_of(request: TraceRequest, limits: Limits, *, torch: str, code: str) -> str:
    """Name a result.

    Args:
        request: The program, its device and its seed.
        limits: What it may use: a program that met one would go further under another.
        torch: Version of the torch that runs it.
        code: Fingerprint of this project's own code, which explains what it did.

    Returns:
        64 hexadecimal digits.
    """
    what = [request.source, request.device, request.seed, limits.model_dump(), torch, code]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def code_fingerprint(package: Path = PACKAGE) -> str:
    """Hash the modules and sentences of a package, so that a result never outlives what made it."""
    digest = hashlib.sha256()
    for path in sorted((*package.rglob("*.py"), *package.glob("messages/*.json"))):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
