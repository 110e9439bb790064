"""What the tracer uses of torch that torch does not promise to keep, each with what is left without it.

The rest of the tracer asks here and nowhere else, so that another release of torch costs facts, never the
run: what is missing is "not available". Bound once, at import, because most of it runs at every op. Facts
of tensors themselves are read in `reading`.

Source: torch 2.13; `make check-torch VERSION=…` runs the tests with another.
"""

import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple

import torch

_missing: dict[str, str] = {}


def unavailable() -> dict[str, str]:
    """What this torch lacks, each with what is not available for want of it."""
    return dict(_missing)


def find(owner: Any, path: str, without: Any, lost: str) -> Any:
    """An attribute by its dotted path, or `without` where some part of the path is not there.

    Args:
        owner: Where the path begins.
        path: Names joined by dots.
        without: What is taken instead.
        lost: What is not available then, in words.

    >>> find(torch, "Tensor.no_such_thing", None, "an example"), unavailable().pop("Tensor.no_such_thing")
    (None, 'an example')
    """
    found = owner
    for name in path.split("."):
        found = getattr(found, name, _missing)
        if found is _missing:
            _missing[path] = lost
            return without
    return found


Silencer = Callable[[], AbstractContextManager[Any]]

without_functions: Silencer = find(
    torch._C, "DisableTorchFunction", nullcontext, "reads that a tensor subclass does not hear"
)
"""While entered, no `__torch_function__` is called."""

without_dispatch: Silencer = find(
    torch._C, "_DisableTorchDispatch", nullcontext, "reads that a tensor subclass's ops do not hear"
)
"""While entered, no `__torch_dispatch__` is called."""

graph_task_id: Callable[[], int] = find(
    torch._C, "_current_graph_task_id", lambda: -1, "whether an op runs in a backward pass"
)
"""Number of the running backward pass; -1 outside one."""

current_node: Callable[[], Any] = find(
    torch._C, "_current_autograd_node", lambda: None, "the node that runs an op of a backward pass"
)
"""The node that runs."""

dispatch_modes: Callable[[], int] = find(
    torch._C, "_len_torch_dispatch_stack", lambda: 99, "calls that are watched more cheaply"
)
"""How many dispatch modes are there; inside one, how many below it."""

saved_tensor_hooks: Callable[[bool], Any] = find(
    torch._C,
    "_autograd._top_saved_tensors_default_hooks",
    lambda ignore_tracing: (),
    "calls that are watched more cheaply",
)
"""The hooks that run when an op saves a tensor; None for none."""

recording_state: Callable[[], Any] = find(
    torch._C, "_get_tracing_state", lambda: None, "whether torch.jit.trace records"
)
"""What `torch.jit.trace` records into; None when it does not."""

set_recording_state: Callable[[Any], None] = find(
    torch._C, "_set_tracing_state", lambda state: None, "our own reads kept out of torch.jit.trace"
)
"""Have it record into this; into nothing for None."""

increment_version: Callable[[Any], None] = find(
    torch.autograd.graph, "increment_version", lambda t: None, "versions after in-place _foreach_ ops"
)
"""Bump a version counter."""

op_overload: type | None = find(torch, "_ops.OpOverload", None, "the difference of API calls and ops")
"""Type of aten ops."""

custom_function_node: type | tuple[()] = find(
    torch, "autograd.function.BackwardCFunction", (), "tensors that a custom Function keeps on its ctx"
)
"""Type of the nodes of custom Functions."""

module_call: Any = find(torch, "nn.Module._call_impl.__code__", None, "inside which module a node was made")
"""Code that every call of a module runs."""

# A storage is known by the address of its StorageImpl, and that by a weak count on it.

_has_address = (
    find(torch.UntypedStorage, "_cdata", None, "the identity of storages without memory") is not None
)
storage_address: Callable[[Any], int] = attrgetter("_cdata") if _has_address else methodcaller("data_ptr")
"""What a storage is known by."""


def _never(address: int) -> bool:
    return False


def _nothing(address: int) -> None:
    pass


_WEAK = ("_weak_ref", "_expired", "_free_weak_ref")
has_weak_storages = all(
    find(torch.UntypedStorage, name, None, "when a storage is freed") is not None for name in _WEAK
)
"""Storages can be watched without being held. Else none is told as freed."""

watch_storage: Callable[[Any], Any]
"""Keep a storage's address from being used again; its bytes are free to go."""

storage_expired: Callable[[int], bool]
"""Its bytes are gone."""

release_storage: Callable[[int], None]
"""Watch it no more."""

if has_weak_storages:
    watch_storage = torch.UntypedStorage._weak_ref
    expired: Any = torch.UntypedStorage._expired
    storage_expired = expired
    release_storage = torch.UntypedStorage._free_weak_ref
else:
    watch_storage, storage_expired, release_storage = _nothing, _never, _nothing


# Wrappers of `torch.func`, functionalization and forward mode: traits of few tensors.


def _no(t: Any) -> bool:
    return False


_TRAIT = "what kind of wrapper a tensor is"
is_batched: Callable[[Any], bool] = find(torch._C, "_functorch.is_batchedtensor", _no, _TRAIT)
is_grad_tracking: Callable[[Any], bool] = find(torch._C, "_functorch.is_gradtrackingtensor", _no, _TRAIT)
is_functional: Callable[[Any], bool] = find(torch, "_is_functional_tensor", _no, _TRAIT)
level_of: Callable[[Any], int] = find(torch._C, "_functorch.maybe_get_level", lambda t: -1, _TRAIT)
unpack_dual: Callable[..., Any] = find(
    torch, "_VF._unpack_dual", lambda t, level: (t, None), "tangents of forward mode"
)
dispatch_keys: Callable[[Any], Any] | None = find(
    torch._C, "_dispatch_keys", None, "subclasses made in C++ that dispatch to Python"
)


keys_included: Callable[[], Any] = find(
    torch._C, "_dispatch_tls_local_include_set", lambda: None, "dispatch keys that a thread adds"
)
keys_excluded: Callable[[], Any] = find(
    torch._C, "_dispatch_tls_local_exclude_set", lambda: None, "dispatch keys that a thread leaves out"
)
dispatch_table: Callable[[str], str] | None = find(
    torch._C, "_dispatch_dump_table", None, "kernels of an op for each dispatch key"
)
_schemas_of: Callable[[str], Any] = find(
    torch._C, "_jit_get_schemas_for_operator", lambda name: (), "ops that PyTorch decomposes"
)
_has_kernel: Callable[[str, str], bool] = find(
    torch._C, "_dispatch_has_kernel_for_dispatch_key", lambda name, key: False, "ops that PyTorch decomposes"
)


def overloads(name: str) -> list[str]:
    """Full names of an op's overloads; none for a name that is no op's."""
    schemas = _schemas_of(name)
    return [f"{s.name}.{s.overload_name}" if s.overload_name else str(s.name) for s in schemas]


def is_composite(overload: str) -> bool:
    """PyTorch decomposes an op into others, autograd included."""
    try:
        return _has_kernel(overload, "CompositeImplicitAutograd")
    except RuntimeError:  # a name of TorchScript's that the dispatcher does not know
        return False


class CustomKernels(NamedTuple):
    """What is needed to run a Python kernel of a custom op with the dispatch keys it has without a mode."""

    registered: Any
    """Kernels that were registered from Python, as `namespace/op/key`."""
    below_python: Any
    """The dispatch keys that come after those of modes."""
    keys_of: Callable[[Any], Any]
    functorch_level: Callable[[], Any]
    """The transform of `torch.func` that runs; None for none."""
    as_on_entry: Callable[[], AbstractContextManager[Any]]
    """While entered, the keys of the thread are what they were when the op was called."""
    without_autograd: Callable[[], AbstractContextManager[Any]]


def _custom_kernels() -> CustomKernels | None:
    lost = "what Python kernels of custom ops do"
    parts = (
        find(torch, "library._impls", None, lost),
        find(torch._C, "_dispatch_keyset_full_after", None, lost),
        find(torch._C, "_dispatch_keys", None, lost),
        find(torch._C, "_functorch.peek_interpreter_stack", None, lost),
        find(torch._C, "_RestorePythonTLSSnapshot", None, lost),
        find(torch._C, "_AutoDispatchBelowAutograd", None, lost),
    )
    if None in parts:
        return None
    registered, after, *others = parts
    return CustomKernels(registered, after(torch._C.DispatchKey.Python), *others)


custom_kernels: CustomKernels | None = _custom_kernels()
"""None where this torch lacks one of them: then what such a kernel does is not heard."""


def counted_versions() -> bool:
    """Where the op that runs was called, writes in place count versions."""
    if custom_kernels is None or keys_excluded() is None:
        return False
    with custom_kernels.as_on_entry():
        return not keys_excluded().has(torch._C.DispatchKey.ADInplaceOrView)


custom_autograd: str = find(torch, "_library.autograd.__file__", "", "versions within custom ops")
"""File of the autograd kernels that `torch.library` makes."""


inductor_wrapper: Any = find(
    torch, "_TorchCompileInductorWrapper", None, "an early word that inductor cannot run in a sandbox"
)
"""What `torch.compile` makes of its default backend."""


def skip_code(code: Any) -> None:
    """Keep dynamo from compiling a function. Imports torch._dynamo, which is slow and seldom needed."""
    try:
        from torch._dynamo.eval_frame import skip_code as skip
    except ImportError:
        _missing["_dynamo.eval_frame.skip_code"] = "compiled programs as they are without us"
        return
    skip(code)


_AOT = "torch._functorch._aot_autograd.graph_compile"
_COMPILER_PLACES = {
    "compile": ("torch._dynamo.convert_frame", "_compile", "what is compiled"),
    "reasons": (
        "torch._dynamo.convert_frame",
        "get_and_maybe_log_recompilation_reasons",
        "why functions are compiled again",
    ),
    "guards": ("torch._dynamo.convert_frame", "DynamoOutput.build_guards", "guards of compiled functions"),
    "break": (
        "torch._dynamo.symbolic_convert",
        "InstructionTranslatorBase.log_graph_break",
        "where graphs break",
    ),
    "graph": ("torch._dynamo.output_graph", "OutputGraph._call_user_compiler", "captured graphs"),
    "inference": (_AOT, "_log_inference_graph", "AOT graphs"),
    "joint": (_AOT, "_log_joint_graph", "AOT graphs"),
    "partitioned": (_AOT, "_log_fw_bw_graphs", "AOT graphs"),
}


def compiler_place(place: str) -> tuple[Any, str]:
    """Where the compiler can be heard: the owner of a function and the function's name there.

    Args:
        place: Which one, a key of the table above.

    Returns:
        The two; None and the name where this torch has no such function.
    """
    module, path, lost = _COMPILER_PLACES[place]
    owner_path, _, name = path.rpartition(".")
    try:
        owner: Any = importlib.import_module(module)
    except ImportError:
        _missing[f"{module}.{path}"] = lost
        return None, name
    if owner_path:
        owner = find(owner, owner_path, None, lost)
    if owner is not None and find(owner, name, None, lost) is None:
        return None, name
    return owner, name


def is_soft_failure(error: BaseException) -> bool:
    """Dynamo runs the function as it is written instead, unless it was told not to."""
    errors = sys.modules.get("torch._dynamo.exc")
    kinds = tuple(
        find(errors, name, (), "what could not be compiled") for name in ("Unsupported", "UserError")
    )
    return errors is not None and isinstance(error, tuple(kind for kind in kinds if kind))
