"""What the project promises about itself: arrows, locks, generated files, set-up, documents.

Each test names the file that breaks the promise and, where there is one, the command that mends it.
"""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def loaded_by(*modules: str) -> set[str]:
    """Every module in memory after a new interpreter imported some."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return set(answer.stdout.split())


def test_the_server_is_imported_without_torch() -> None:
    assert loaded_by("tensor_anatomy.main").isdisjoint({"torch", "tensor_anatomy.tracing"})


def test_the_sandboxed_process_is_imported_without_the_web() -> None:
    web = {"fastapi", "starlette", "uvicorn", "jinja2", "tensor_anatomy.web", "tensor_anatomy.settings"}

    assert loaded_by("tensor_anatomy.zygote", "tensor_anatomy.tracing.session").isdisjoint(web)


# -- the front end's arrows --------------------------------------------------------------------

SRC = ROOT / "static" / "src"
SCRIPTS = sorted(path for path in SRC.rglob("*.ts"))

MAY_IMPORT = {
    "schema": set[str](),
    "model": {"schema", "model"},
    "layout": {"schema", "model", "layout"},
    "views": {"schema", "model", "layout", "views"},
    "features": {
        *("schema", "model", "layout", "views", "features", "page", "stage", "styles", "tour"),
        "words-later",
    },
    "playground": {"schema", "model", "layout", "views", "playground", "page", "player", "stage"},
    "tour": {"model", "views", "tour"},
    "share": {"schema", "model", "layout", "views", "share", "player"},
    "compare": {
        *("schema", "model", "layout", "views", "features", "compare", "playground"),
        *("page", "player", "stage", "styles", "words-later"),
    },
}
"""Folder → folders it may import from. The files beside them (player, playground, …) may import all."""

IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


def imports_of(script: Path) -> list[Path]:
    return [(script.parent / target).resolve() for target in IMPORT.findall(script.read_text())]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(SRC)))
def test_scripts_import_only_downwards(script: Path) -> None:
    folder = script.relative_to(SRC).parts[0]
    if folder not in MAY_IMPORT:
        assert script.parent == SRC, f"{folder}/ has no line in the table of imports"
        return
    inside = [path.relative_to(SRC).parts[0] for path in imports_of(script) if path.is_relative_to(SRC)]
    assert set(inside) <= MAY_IMPORT[folder]


def test_no_view_imports_another_view() -> None:
    views = {
        path.with_suffix("") for path in (SRC / "views").glob("*.ts") if "implements View" in path.read_text()
    }

    assert len(views) > 1
    for view in views:
        assert not views.intersection(imports_of(view.with_suffix(".ts"))), view.name


def test_what_a_test_of_imports_must_see() -> None:
    text = """
        import { a } from './a';
        import type { B } from "../b";
        const c = await import('./c');
        import './d';
        import { build } from "esbuild";
    """

    assert IMPORT.findall(text) == ["./a", "../b", "./c", "./d"]


@pytest.mark.parametrize(
    ("entries", "limit_kb"),
    [(["embed.js", "embed.css"], 60), (["theme.js", "playground.js", "app.css", "pages.css"], 200)],
    ids=["embed", "playground"],
)
def test_what_a_page_loads_stays_small(entries: list[str], limit_kb: int) -> None:
    built = json.loads((ROOT / "static" / "dist" / "manifest.json").read_text())
    loaded: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        loaded.add(name)
        waiting += [other for other in built[name]["imports"] if other not in loaded]

    dist = ROOT / "static" / "dist"
    styles = "".join((dist / name).read_text() for name in loaded if name.endswith(".css"))
    fonts = [font for font in (dist / "fonts").iterdir() if font.name in styles]
    scripts_and_styles = sum(built[name]["gzip_bytes"] for name in loaded)
    assert scripts_and_styles + sum(font.stat().st_size for font in fonts) <= limit_kb * 1000


# -- locks -------------------------------------------------------------------------------------


def locked() -> dict[str, str]:
    lines = [
        line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")
    ]
    pins = [Requirement(line) for line in lines]
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in pins)
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}


def test_the_lock_pins_every_package_that_pyproject_asks_for() -> None:
    pins = locked()
    project = PYPROJECT["project"]

    wanted = [
        Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["dev"])
    ]
    missing = [
        str(requirement)
        for requirement in wanted
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"))
    ]
    assert missing == [], "run `make lock`"


def test_the_lock_pins_torch_for_every_platform() -> None:
    assert locked()["torch"] == "2.13.0"
    assert not [name for name in locked() if name.startswith(("nvidia", "cuda", "triton"))]


def test_the_locks_name_no_addresses() -> None:
    npm = json.loads((ROOT / "package-lock.json").read_text())

    assert "://" not in (ROOT / "requirements.lock").read_text()
    assert [name for name, package in npm["packages"].items() if "resolved" in package] == []


def test_npm_packages_are_asked_for_at_one_exact_version() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]

    for name, version in {**package.get("dependencies", {}), **package["devDependencies"]}.items():
        assert lock[f"node_modules/{name}"]["version"] == version, name


@pytest.mark.parametrize(("folder", "extras"), [("app", []), ("tests", ["dev"])])
def test_every_package_that_is_imported_is_asked_for(folder: str, extras: list[str]) -> None:
    project = PYPROJECT["project"]
    lines = [
        *project["dependencies"],
        *(line for x in extras for line in project["optional-dependencies"][x]),
    ]
    asked = {canonicalize_name(Requirement(line).name) for line in lines}
    files = [path for path in (ROOT / folder).rglob("*.py") if "data" not in path.parts]
    modules = {name for path in files for name in imported_by(path)}

    ours = {"tensor_anatomy", "conftest"} | {path.stem for path in (ROOT / "tests").rglob("*.py")}
    foreign = modules - set(sys.stdlib_module_names) - ours
    assert len(foreign) > 1
    owners = packages_distributions()
    unasked = [name for name in foreign if not asked & {canonicalize_name(n) for n in owners.get(name, [])}]
    assert unasked == [], "add it to pyproject.toml, then run `make lock`"


def imported_by(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0
    }
    return {name.split(".")[0] for name in names}


# -- generated files ---------------------------------------------------------------------------


def test_the_json_schema_is_what_the_records_say() -> None:
    command = [sys.executable, "-m", "tensor_anatomy.schema"]
    now = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert (ROOT / "app/schema/trace.schema.json").read_text() == now, "run `make types`"


# -- set-up ------------------------------------------------------------------------------------

MAKEFILE = (ROOT / "Makefile").read_text()


def test_ci_runs_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"

    assert "make test" in script.read_text().splitlines()
    assert script.stat().st_mode & 0o111
    assert "`make test`" in (ROOT / "README.md").read_text()


def test_contributing_describes_every_make_target() -> None:
    described = set(re.findall(r"^\| `make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    offered = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))

    assert described == offered - {"help"}


def test_test_means_everything() -> None:
    needs = dict(re.findall(r"^([a-z-]+): ([a-z -]*?)(?: ##.*)?$", MAKEFILE, re.MULTILINE))

    assert set(needs["test"].split()) == {"check", "slow-tests", "browser-tests"}
    assert set(needs["check"].split()) == {"lint", "contracts", "tsc", "stale", "python-tests", "node-tests"}


def test_files_stay_short_enough_to_read() -> None:
    answer = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    code = [ROOT / name for name in answer.stdout.split() if name.endswith((".py", ".ts", ".css", ".html"))]
    shipped = [
        path for path in code if path.exists() and "tests" not in path.parts and ".gen." not in path.name
    ]

    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in shipped}
    assert len(lengths) > 50
    assert {name: lines for name, lines in lengths.items() if lines > 500} == {}


# -- the container image: nothing here runs Docker, so its steps are read ----------------------


def dockerfile() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def stages() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    steps = dockerfile()
    first, second = (number for number, (word, _) in enumerate(steps) if word == "FROM")
    return steps[first:second], steps[second:]


def copied(stage: list[tuple[str, str]]) -> list[str]:
    arguments = [shlex.split(rest) for word, rest in stage if word == "COPY"]
    return [path for words in arguments if not words[0].startswith("--from") for path in words[:-1]]


def test_the_image_copies_files_that_exist_and_reach_its_build() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    admitted = {line[1:] for line in ignore if line.startswith("!")}

    assert ignore[1] == "*"
    for path in [*copied(stages()[0]), *copied(stages()[1])]:
        assert (ROOT / path).exists(), path
        assert path.split("/")[0] in admitted, path


def test_the_image_builds_the_front_end_from_the_same_lock_with_the_same_commands() -> None:
    build, _ = stages()
    steps = [rest for word, rest in build if word == "RUN"]
    ours = (ROOT / "tools" / "frontend.py").read_text()

    assert steps == ["npm ci --ignore-scripts", "node build.mjs"]
    assert '"ci", "--ignore-scripts"' in ours
    assert '"build.mjs"' in ours
    # What the build may read, by tools/frontend.py, is there.
    for path in ("package-lock.json", "build.mjs", "tsconfig.json", "static", "app/messages"):
        assert path in copied(build), path


def test_the_image_installs_the_locked_versions_and_the_filter_library() -> None:
    _, server = stages()
    steps = [rest for word, rest in server if word == "RUN"]

    assert any("libseccomp2" in step for step in steps)
    (install,) = (step for step in steps if "pip install" in step)
    assert "--constraint requirements.lock" in install
    assert '${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"}' in install
    assert ("COPY", "--from=frontend /src/static/dist static/dist") in server


def test_the_image_serves_unprivileged_confined_and_watched() -> None:
    _, server = stages()
    words = [word for word, _ in server]
    last = dict(server)

    assert last["USER"] not in ("", "root", "0")
    assert words.index("USER") > max(number for number, word in enumerate(words) if word == "RUN")
    assert "/healthz" in last["HEALTHCHECK"]
    assert "--require-sandbox" in last["CMD"]
    assert "HOST=0.0.0.0" in last["ENV"]


def test_the_images_python_is_one_we_support() -> None:
    _, server = stages()

    assert server[0][1].startswith("python:3.11-")
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"
