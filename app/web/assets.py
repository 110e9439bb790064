"""Addresses of the files a browser loads, and how long it may keep them.

An address carries `?v=` and a hash of the file, so a file that is asked for with it never changes; one that
is asked for with another hash, as while a server is replaced, is not kept. It does not build anything: a file
that was not built has an address without a hash, and 404 behind it.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_FOREVER = "public, max-age=31536000, immutable"
_HASHED_NAMES = "dist/chunks/"
"""The build puts a hash into these names itself."""


class Assets(StaticFiles):
    """`/static/…`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder)
        self._folder = folder

    def url(self, name: str) -> str:
        """The address of a file below the folder, such as `dist/app.css`."""
        path = self._folder / name
        if not path.is_file():
            return f"/static/{name}"
        return f"/static/{name}?v={_version(path)}"

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, with how long it may be kept."""
        response = await super().get_response(path, scope)
        kept = path.startswith(_HASHED_NAMES) or self._is_right(path, scope["query_string"])
        response.headers["Cache-Control"] = _FOREVER if kept else "no-cache"
        return response

    def _is_right(self, path: str, query: bytes) -> bool:
        """The hash that was asked with is that of the file that is answered."""
        file = self._folder / path
        return query.startswith(b"v=") and file.is_file() and query == b"v=" + _version(file).encode()


def _version(path: Path) -> str:
    return _digest(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _digest(path: Path, _modified_ns: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:10]
