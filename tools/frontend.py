"""Installs the locked npm packages and builds `static/dist/`, each only when its inputs changed.

    python tools/frontend.py

It decides whether to build; `build.mjs` knows how. npm runs no install scripts: no package of
ours needs one, and a stranger's script would run with the developer's rights.
"""

from node import find
from stamp import ROOT, digest, is_current, mark

DIST = ROOT / "static" / "dist"
LOCK = ROOT / "package-lock.json"

# What a page's script may import: our own sources, the schema's and the messages' JSON.
SOURCES = (
    LOCK,
    ROOT / "build.mjs",
    ROOT / "tsconfig.json",
    ROOT / "static" / "src",
    ROOT / "static" / "css",
    ROOT / "app" / "messages",
)


def main() -> None:
    """Bring node_modules/ and static/dist/ up to date."""
    packages = digest([LOCK, ROOT / "package.json"])
    packages_stamp = ROOT / "node_modules" / ".stamp"
    built = digest(SOURCES)
    built_stamp = DIST / ".stamp"
    if is_current(packages_stamp, packages) and is_current(built_stamp, built):
        return
    node = find()
    if not is_current(packages_stamp, packages):
        print("Installing the npm packages of package-lock.json", flush=True)
        _must(node.run_npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"), "npm ci")
        mark(packages_stamp, packages)
    if not is_current(built_stamp, built):
        print("Building static/dist", flush=True)
        _must(node.run("build.mjs"), "node build.mjs")
        mark(built_stamp, built)


def _must(status: int, command: str) -> None:
    if status != 0:
        raise SystemExit(f"`{command}` failed, see above.")


if __name__ == "__main__":
    main()
