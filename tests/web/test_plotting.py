"""The plotting library: from the package's own file, kept for good, nothing that breaks the policy."""

import gzip
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

from tensor_anatomy.web.plotting import Plotting

LIBRARY = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()


async def test_the_library_is_the_file_of_the_installed_package_and_is_kept_for_good(client):
    page = (await client.get("/playground")).text
    address = re.search(r'<meta name="charts" content="([^"]+)"', page)[1]
    assert address == f"/vendor/plotly.min.js?v={version('plotly')}"

    for accepted in ("gzip", "identity"):
        answer = await client.get(address, headers={"Accept-Encoding": accepted})
        assert answer.status_code == 200
        assert answer.content == LIBRARY
        assert answer.headers["Content-Type"].startswith("text/javascript")
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers.get("Content-Encoding", "identity") == accepted


async def test_it_is_packed_once_and_small_enough(client):
    first = await client.get("/vendor/plotly.min.js", headers={"Accept-Encoding": "gzip"})
    assert first.headers["Cache-Control"] == "no-cache"
    assert int(first.headers["Content-Length"]) < len(gzip.compress(LIBRARY, 6)) + 100


async def test_the_address_of_another_version_is_not_kept(client):
    for query in ("v=0.0.0", "v=", "v=anything", f"w={version('plotly')}"):
        answer = await client.get(f"/vendor/plotly.min.js?{query}", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["Cache-Control"] == "no-cache"


async def test_pages_without_charts_do_not_name_it(client):
    for path in ("/", "/lessons/one-storage", "/embed/v1/examples.views", "/about"):
        assert "plotly" not in (await client.get(path)).text


def test_every_style_that_it_would_add_is_known_beforehand():
    charts = Plotting().charts
    assert charts is not None
    added = LIBRARY.count(b'createElement("style")')
    own = LIBRARY.count(b"plotly.js-style-") > 0
    assert added == len(charts.styles) + own


def test_without_the_package_there_are_no_charts():
    assert Plotting("no_such_package_here").charts is None
    assert Plotting("json").charts is None  # installed, but of another form


def test_the_server_never_imports_it():
    code = (
        "import sys, tensor_anatomy.web.app; from tensor_anatomy.web.plotting import Plotting\n"
        "assert Plotting().charts; print('plotly' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
