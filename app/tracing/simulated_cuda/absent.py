"""What of CUDA is not there: it is refused by name, or has no effect and says so.

Whatever reaches for a function that only a PyTorch built with CUDA has would end in words about PyTorch's
inside; here it ends in a sentence of the simulation.
"""

import inspect
import itertools
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity
from torch.profiler import profiler as kineto

from .labels import SIMULATED
from .machine import Machine
from .patches import NotSimulated, Patches, not_simulated

NO_CLOCK = "It computes on the CPU, and how long that takes says nothing about a GPU."
_NO_GPU = "There is no GPU."
_ONLY_WITH_CUDA = ("_cuda_", "_nccl_", "_broadcast", "_cudnn", "_reduce_add", "_scatter_", "_gather_")
"""How functions begin that a PyTorch built with CUDA has below its Python."""


class NotThere(NotSimulated, AttributeError):
    """Asked of with `hasattr`, it is not there."""


def refuse_what_is_not_there(machine: Machine, patches: Patches) -> None:
    """Put errors of the simulation in the place of what it does not do."""
    queued = "Nothing is queued, so there is nothing to capture."
    reasons = {
        "CUDAGraph": queued,
        "graph": queued,
        "make_graphed_callables": queued,
        "MemPool": "There is one pool.",
        "ExternalStream": _NO_GPU,
        "get_stream_from_external": _NO_GPU,
        "cudart": "There is no CUDA runtime.",
        "utilization": NO_CLOCK,
        "temperature": _NO_GPU,
        "power_draw": _NO_GPU,
        "clock_rate": _NO_GPU,
        "memory_usage": _NO_GPU,
        "device_memory_used": _NO_GPU,
        "list_gpu_processes": _NO_GPU,
        "caching_allocator_alloc": "A model of memory has no addresses.",
        "caching_allocator_delete": "A model of memory has no addresses.",
    }
    for name, why in reasons.items():
        refusal = refusing(f"torch.cuda.{name}", why)
        for owner in (torch.cuda, torch.cuda.memory):
            if hasattr(owner, name):
                patches.put(owner, name, refusal)
    for name in ("_snapshot", "_dump_snapshot"):
        why = "torch.cuda.memory_snapshot() has the segments and blocks."
        patches.put(torch.cuda.memory, name, refusing(f"torch.cuda.memory.{name}", why))

    def missing(name: str) -> Any:
        if name.startswith(_ONLY_WITH_CUDA):
            raise NotThere(f"{SIMULATED}torch._C.{name} is not simulated. {_NO_GPU}")
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")

    patches.put(torch._C, "__getattr__", missing)
    begin: Any = getattr(torch.distributed, "init_process_group", None)
    if begin is not None:

        def begin_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            if "nccl" in str(backend):
                raise not_simulated("torch.distributed over NCCL", "One process needs no group.")
            return begin(backend, *args, **kwargs)

        patches.put(torch.distributed, "init_process_group", begin_group)
    _refuse_sharing(machine, patches)
    _put_marks(patches)
    _put_profilers(patches)
    _put_compiler(machine, patches)


def refusing(what: str, why: str) -> Any:
    """A function that refuses. See `not_simulated`."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise not_simulated(what, why)

    return refuse


def _refuse_sharing(machine: Machine, patches: Patches) -> None:
    """Other libraries would take the memory for that of the CPU."""
    labels = machine.labels
    shared: Any = torch.Tensor.__dlpack__
    capsule: Any = torch._C._to_dlpack

    def guarded(original: Any) -> Any:
        def share(t: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(t, torch.Tensor) and labels.of(t).type == "cuda":
                raise not_simulated("DLPack of a tensor on a device", "There is no memory of a GPU to share.")
            return original(t, *args, **kwargs)

        return share

    patches.put(torch.Tensor, "__dlpack__", guarded(shared))
    patches.put(torch.utils.dlpack, "to_dlpack", guarded(capsule))
    patches.put(torch, "to_dlpack", guarded(capsule))


def _put_marks(patches: Patches) -> None:
    """NVTX marks are for profilers outside; they nest, and nobody reads them."""
    depth: list[Any] = []
    handles = itertools.count(1)

    def push(message: Any) -> int:
        depth.append(message)
        return len(depth) - 1

    def pop() -> int:
        if depth:
            depth.pop()
        return len(depth) - 1 if depth else -1

    marks = SimpleNamespace(
        rangePushA=push,
        rangePop=pop,
        markA=lambda message: None,
        rangeStartA=lambda message: next(handles),
        rangeEnd=lambda handle: None,
    )
    patches.put(torch.cuda.nvtx, "_nvtx", marks)


def _put_profilers(patches: Patches) -> None:
    """Profilers see the CPU; asked for a device, they would look for one on every op."""

    def say() -> None:
        said = f"{SIMULATED}the profiler records what runs on the CPU, there are no kernels of a GPU"
        warnings.warn(said, stacklevel=4)

    begin: Any = kineto._KinetoProfile.__init__
    supported: Any = autograd_profiler.profile.__init__

    def with_activities(self: Any, *, activities: Any = None, **options: Any) -> None:
        asked = list(activities or ())
        kept = [each for each in asked if each is not ProfilerActivity.CUDA]
        if len(kept) < len(asked):
            say()
        begin(self, activities=kept or [ProfilerActivity.CPU], **options)

    def with_devices(
        self: Any, enabled: bool = True, *, use_cuda: bool = False, use_device: Any = None, **options: Any
    ) -> None:
        if use_cuda or use_device == "cuda":
            say()
            use_device = None
        supported(self, enabled, use_device=use_device, **options)

    patches.put(kineto._KinetoProfile, "__init__", with_activities)
    patches.put(autograd_profiler.profile, "__init__", with_devices)
    patches.put(autograd_profiler, "emit_nvtx", refusing("torch.autograd.profiler.emit_nvtx", _NO_GPU))


def _put_compiler(machine: Machine, patches: Patches) -> None:
    """Compiled code would not ask the simulation where its tensors are: it runs as it is written."""
    script: Any = torch.jit.script

    def scripted(obj: Any, *args: Any, **kwargs: Any) -> Any:
        of = type(obj) if isinstance(obj, torch.nn.Module) else obj
        try:
            text = inspect.getsource(of)
        except (OSError, TypeError):
            text = ""
        if "cuda" in text:
            raise not_simulated("torch.jit.script with devices", "Its code asks C++ for the device.")
        return script(obj, *args, **kwargs)

    patches.put(torch.jit, "script", scripted)
    trace: Any = torch.jit.trace

    def traced(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = [example_inputs] if isinstance(example_inputs, torch.Tensor) else example_inputs or ()
        own = func.parameters() if isinstance(func, torch.nn.Module) else ()
        if any(isinstance(t, torch.Tensor) and t.is_cuda for t in (*given, *own)):
            raise not_simulated("torch.jit.trace with devices", "What it records would run on the CPU.")
        return trace(func, example_inputs, *args, **kwargs)

    patches.put(torch.jit, "trace", traced)

    def run_as_written(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: run_as_written(function, **options)
        said = f"{SIMULATED}torch.compile compiles nothing, the code runs as it is written"
        warnings.warn(said, stacklevel=2)
        return model

    patches.put(torch, "compile", run_as_written)
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        why = "torch.compile runs the code as it is written."
        for name in ("explain", "export"):
            patches.put(dynamo, name, refusing(f"torch._dynamo.{name}", why))
    fake: Any = torch._subclasses.fake_tensor.FakeTensor
    make: Any = fake.__new__

    def without_devices(kind: Any, *args: Any, **kwargs: Any) -> Any:
        """PyTorch's C++ would end the process at the first gradient."""
        named = (*args, *kwargs.values())
        if any(isinstance(each, (str, torch.device)) and str(each).startswith("cuda") for each in named):
            why = "torch.compile runs the code as it is written."
            raise not_simulated("tracing code with devices into a graph", why)
        return make(kind, *args, **kwargs)

    patches.put(fake, "__new__", staticmethod(without_devices))
