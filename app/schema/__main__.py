"""Print the JSON Schema of a trace: `python -m tensor_anatomy.schema`.

From it come `trace.schema.json` and the TypeScript types (`make types`).
"""

import json
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from .packing import PackedTrace
from .trace import Trace


class PlainTitles(GenerateJsonSchema):
    """Without a title per field: json2ts would turn each into an alias of its own."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No."""
        return False


def trace_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a trace, and of a packed one among its definitions."""
    schema = Trace.model_json_schema(by_alias=True, mode="serialization", schema_generator=PlainTitles)
    packed = PackedTrace.model_json_schema(mode="serialization", schema_generator=PlainTitles)
    inner = packed.pop("$defs")
    return {**schema, "$defs": {**schema["$defs"], **inner, "PackedTrace": packed}}


if __name__ == "__main__":
    json.dump(trace_schema(), sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
