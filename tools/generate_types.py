"""Writes what is generated from the records: the JSON Schema and the TypeScript types.

    python tools/generate_types.py           writes both files (`make types`)
    python tools/generate_types.py --check   fails when a file differs from what would be written

The records (app/schema) are the one place where a trace is defined. This file only connects
`python -m tensor_anatomy.schema` with json2ts.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from node import find
from stamp import ROOT

SCHEMA = ROOT / "app" / "schema" / "trace.schema.json"
TYPES = ROOT / "static" / "src" / "schema" / "trace.gen.ts"
JSON2TS = ROOT / "node_modules" / "json-schema-to-typescript" / "dist" / "src" / "cli.js"
BANNER = "/* Generated from app/schema by `make types`. Do not edit. */"


def schema() -> str:
    """Return the JSON Schema of a trace, as the records give it now."""
    command = [sys.executable, "-m", "tensor_anatomy.schema"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def types(json_schema: str) -> str:
    """Return TypeScript interfaces for a JSON Schema."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "trace.schema.json"), Path(folder, "trace.gen.ts")
        source.write_text(json.dumps(_without_siblings(json.loads(json_schema))))
        files = ("-i", str(source), "-o", str(result))
        status = find().run(str(JSON2TS), *files, f"--bannerComment={BANNER}", "--unreachableDefinitions")
        if status != 0:
            raise SystemExit("json2ts failed, see above.")
        return result.read_text()


def _without_siblings(node: Any) -> Any:
    # json2ts makes a second interface (`Sentence1`) of a reference that has a description beside it.
    if isinstance(node, list):
        return [_without_siblings(item) for item in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _without_siblings(value) for key, value in node.items()}
    if "prefixItems" in inner:  # json2ts knows tuples only as older drafts spell them
        inner["items"] = inner.pop("prefixItems")
    if "$ref" in inner and len(inner) > 1:
        return {"allOf": [{"$ref": inner.pop("$ref")}], **inner}
    return inner


def main(args: list[str]) -> int:
    """Write the files, or compare them."""
    json_schema = schema()
    wanted = {SCHEMA: json_schema, TYPES: types(json_schema)}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text() != text]
    if "--check" in args:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run `make types`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
