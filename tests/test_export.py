"""`tensor-anatomy export`: one file that carries its trace and asks for nothing."""

import base64
import hashlib
import json
import re

import pytest
from tensor_anatomy import cli
from tensor_anatomy.web import export

from .conftest import record

SCRIPT = "const end = '</script><!-- ';"


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A front end of two small files, and programs traced in this process."""
    dist = tmp_path / "static" / "dist"
    dist.mkdir(parents=True)
    (dist / "embed.css").write_text("p{color:red}")
    (dist / "more.css").write_text("b{color:blue}")
    (dist / "embed.js").write_text(SCRIPT)
    (dist / "more.js").write_text("const more = 1;")
    monkeypatch.setattr(export, "resource", lambda name: tmp_path / name)
    monkeypatch.setattr(
        cli, "trace_once", lambda request, _limits, **_options: record(request.source, seed=request.seed)
    )
    return tmp_path


def exported(folder, source: str, *options: str) -> str:
    program, out = folder / "program.py", folder / "out.html"
    program.write_text(source, encoding="utf-8")
    assert cli.main(["export", str(program), "-o", str(out), *options]) == 0
    return out.read_text(encoding="utf-8")


def test_the_file_carries_its_trace_and_its_meaning(built):
    page = exported(built, "import torch\nx = torch.ones(2, 3)\ny = x.t()\n")
    data = re.search(r'<trace-player[^>]*>\s*<script type="application/json">(.*?)</script>', page)
    trace = json.loads(data.group(1))

    assert trace["source"].endswith("y = x.t()\n")
    assert len(trace["said"]) == 3
    assert "is a view of" in page
    assert "<title>program.py · Tensor Anatomy</title>" in page


def test_the_file_asks_for_nothing_and_may_not(built):
    page = exported(built, "import torch\nx = torch.ones(2)\n")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1).replace("&#39;", "'")
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert policy.startswith("default-src 'none'; ")
    assert f"'sha256-{digest}'" in policy
    assert not re.findall(r"""(?:src|href)=["']""", page)


def test_the_file_has_inside_what_a_served_embed_brings_when_asked(built):
    page = exported(built, "import torch\nx = torch.ones(2)\n")
    words = json.loads(re.search(r'id="messages">(.*?)</script>', page).group(1))

    assert page.index("const more = 1;") < page.index("const end")
    assert "b{color:blue}" in page
    assert {"ui.lens.tensor", "ui.ladder.step", "ui.node.rule", "ui.help.more"} <= words.keys()
    assert 'id="more"' not in page


def test_no_text_of_a_program_ends_an_element(built):
    page = exported(
        built, 'import torch\nprint("</script><script>alert(1)</script><!--")\n', "--title", "</title>"
    )

    assert page.count("<script") == page.count("</script>") == 3
    assert "alert(1)</script" not in page
    assert r"const end = '<\/script><\!-- ';" in page
    assert "<title>&lt;/title&gt; · Tensor Anatomy</title>" in page


def test_the_language_of_the_file_is_chosen(built):
    page = exported(built, "import torch\nx = torch.ones(2)\n", "--lang", "zh")

    assert '<html lang="zh-Hans"' in page
    assert "有自己的存储" in page


def test_an_export_says_what_is_missing(built, capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("x = 1\n")
    (built / "static/dist/embed.js").unlink()

    assert cli.main(["export", str(program), "-o", str(tmp_path / "out.html")]) == 2
    assert cli.main(["export", str(program)]) == 2
    assert cli.main(["export", "--site", "out"]) == 2
    err = capsys.readouterr().err

    assert "the front end is not built" in err
    assert "-o OUT.html" in err
    assert "not in this version" in err


def test_a_program_that_cannot_be_written_is_bad_usage(built, capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("x = 1\n")

    assert cli.main(["export", str(program), "-o", str(tmp_path / "no" / "such" / "folder.html")]) == 2
    assert "cannot write" in capsys.readouterr().err
