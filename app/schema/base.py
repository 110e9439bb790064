"""What every record has in common: frozen, closed, documented, without defaults.

No defaults, so that "absent" and "null" cannot differ and no TypeScript field is optional.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1
"""Rises when a field changes meaning. A player refuses a trace of a version it does not know."""

Layer = Literal["data", "metadata", "autograd", "device"]
"""The four layers of a tensor."""

NameChange = Literal["data", "metadata", "autograd", "device", "new", "rebound", "deleted"]
"""What a statement did to a name: the layers of its tensor that changed, or that the name itself did."""


class Record(BaseModel):
    """A frozen, closed piece of data. The string under a field is its documentation everywhere."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, populate_by_name=True
    )


class Sentence(Record):
    """A sentence by message id: the catalogues say it in each language."""

    layer: Layer | None
    """The layer it is about."""

    id: str
    """Id in the catalogues."""

    args: dict[str, Any]
    """Values for its placeholders."""
