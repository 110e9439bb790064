"""The trace as data: every record that crosses the line between server, sandbox and browser.

Records are defined here once; JSON Schema, OpenAPI and the TypeScript types come from them.
This package imports nothing of ours and neither torch nor the web, so both processes can load it.
"""

from .autograd import GraphNode, SavedTensor, SavedTensorChanged, SavedTensorsFreed
from .base import SCHEMA_VERSION, Layer, NameChange, Record
from .devices import Transfer
from .drawing import EdgeDrawing, GraphDrawing, NodeDrawing
from .ops import ApiCall, OpCall, Verdict
from .run import DeviceChoice, Limits, RunRequest, TraceRequest
from .storage import (
    StorageBytes,
    StorageFreed,
    TensorsGone,
    TensorState,
    TensorSummary,
    TensorValues,
    TensorView,
    UntypedStorage,
)
from .trace import (
    Chunk,
    Closing,
    Environment,
    Event,
    Explanation,
    Failure,
    FrameEntered,
    FrameLeft,
    NamesBound,
    Note,
    ObserverEffect,
    Opening,
    Operand,
    Outcome,
    Sentence,
    SourceRange,
    Statement,
    StdoutWritten,
    Step,
    Steps,
    Trace,
    WarningIssued,
)

__all__ = [
    "SCHEMA_VERSION",
    "ApiCall",
    "Chunk",
    "Closing",
    "DeviceChoice",
    "EdgeDrawing",
    "Environment",
    "Event",
    "Explanation",
    "Failure",
    "FrameEntered",
    "FrameLeft",
    "GraphDrawing",
    "GraphNode",
    "Layer",
    "Limits",
    "NameChange",
    "NamesBound",
    "NodeDrawing",
    "Note",
    "ObserverEffect",
    "OpCall",
    "Opening",
    "Operand",
    "Outcome",
    "Record",
    "RunRequest",
    "SavedTensor",
    "SavedTensorChanged",
    "SavedTensorsFreed",
    "Sentence",
    "SourceRange",
    "Statement",
    "StdoutWritten",
    "Step",
    "Steps",
    "StorageBytes",
    "StorageFreed",
    "TensorState",
    "TensorSummary",
    "TensorValues",
    "TensorView",
    "TensorsGone",
    "Trace",
    "TraceRequest",
    "Transfer",
    "UntypedStorage",
    "Verdict",
    "WarningIssued",
]
