"""`/vendor/plotly.min.js`: the plotting library of the charts, the file that plotly's Python package carries.

The package is found, never imported: its import takes a second and the server draws nothing. The file is
packed once for all readers, and its address names its version, so that a browser asks once. Where the
package is missing there is no address, and the page says that charts are not available.
"""

import asyncio
import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

_PATH = "/vendor/plotly.min.js"
_FOREVER = "public, max-age=31536000, immutable"
_MEDIA_TYPE = "text/javascript"
_OWN_STYLE = re.compile(rb'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')
"""What it does, unless the element is there: add a style of its own, which our policy forbids."""


@dataclass(frozen=True)
class Charts:
    """What a page needs to load the library."""

    url: str
    """Its address, with its version."""

    styles: tuple[str, ...]
    """Ids of style elements that it would add, had the page none of that id."""


class Plotting:
    """Finds the library and answers with it."""

    def __init__(self, package: str = "plotly") -> None:
        self._package = package
        self._packed: asyncio.Task[bytes] | None = None

    @cached_property
    def file(self) -> Path | None:
        """The library; None where the package is not installed or has another form."""
        spec = find_spec(self._package)
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder) / "package_data" / "plotly.min.js"
            if path.is_file():
                return path
        return None

    @cached_property
    def charts(self) -> Charts | None:
        """What pages are told; None where there is no library."""
        if self.file is None or self._release is None:
            return None
        styles = dict.fromkeys(each.decode() for each in _OWN_STYLE.findall(self.file.read_bytes()))
        return Charts(f"{_PATH}?v={self._release}", tuple(styles))

    @cached_property
    def _release(self) -> str | None:
        try:
            return version(self._package)
        except PackageNotFoundError:
            return None

    def router(self) -> APIRouter:
        """The route."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route(_PATH, self.answer, methods=["GET"])
        return router

    async def answer(self, request: Request) -> Response:
        """The file, packed when the browser takes that."""
        if self.file is None:
            raise HTTPException(404)
        # Under another version's address a browser must not keep this one for good.
        right = self._release is not None and request.query_params.get("v") == self._release
        kept = _FOREVER if right else "no-cache"
        headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return FileResponse(self.file, media_type=_MEDIA_TYPE, headers=headers)
        if self._packed is None:
            # Several readers wait for one packing.
            self._packed = asyncio.create_task(asyncio.to_thread(_pack, self.file))
        body = await asyncio.shield(self._packed)
        return Response(body, media_type=_MEDIA_TYPE, headers={**headers, "Content-Encoding": "gzip"})


def _pack(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)
