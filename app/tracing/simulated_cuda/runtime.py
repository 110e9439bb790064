"""`torch.cuda`, `torch.accelerator` and what else speaks of devices, for simulated ones.

Statistics come from the model of the caching allocator, through PyTorch's own Python code wherever that
computes them from others. Everything is over when it returns: streams order nothing, events measure nothing.
"""

import threading
from typing import Any

import torch

from .absent import NotThere, refuse_what_is_not_there
from .autocast import put_autocast
from .generators import Generator
from .labels import CPU, SIMULATED
from .machine import Machine
from .memory import put_memory
from .patches import Patches, not_simulated
from .streams import put_streams

NAME = "Simulated CUDA device"


class _Properties:
    """What is known of a device; of a GPU's own properties, that there is none."""

    def __init__(self, name: str, total_memory: int) -> None:
        self.name = name
        self.total_memory = total_memory
        self.major = self.minor = 0
        self.multi_processor_count = 1
        self.is_integrated = self.is_multi_gpu_board = 0

    def __getattr__(self, name: str) -> Any:
        raise NotThere(f"{SIMULATED}the property {name!r} of a device is not simulated. There is no GPU.")

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )


def put_runtime(machine: Machine, patches: Patches) -> None:
    """Replace the functions of `torch.cuda` and `torch.accelerator`."""
    cuda = torch.cuda
    _put_devices(machine, patches)
    put_memory(machine, patches)
    put_streams(machine, patches)
    _put_randomness(machine, patches)
    put_autocast(machine, patches)
    _put_types(machine, patches)
    patches.put(cuda, "_lazy_init", _refuse)
    patches.put(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    grouped = torch._C._group_tensors_by_device_and_dtype

    def group(tensors: Any, *rest: Any, **kwargs: Any) -> Any:
        groups = grouped(tensors, *rest, **kwargs)
        return {(_device_of_group(lists, d), dtype): lists for (d, dtype), lists in groups.items()}

    patches.put(torch._C, "_group_tensors_by_device_and_dtype", group)
    patches.put(torch._C, "_scatter", _scatter)
    patches.put(torch._C, "_gather", lambda parts, dim, place: _gather(machine, parts, dim, place))
    patches.put(torch.nn.parallel._functions.Scatter, "forward", staticmethod(_scatter_forward))
    begin: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # where a thread begins

    def begin_with_devices(thread: Any) -> None:
        with machine.another_mode():
            begin(thread)

    patches.put(threading.Thread, "_bootstrap_inner", begin_with_devices)
    refuse_what_is_not_there(machine, patches)


def _device_of_group(lists: Any, otherwise: Any) -> Any:
    first = next((t for each in lists[0] for t in each if t is not None), None)
    return otherwise if first is None else first.device


def _refuse() -> None:
    raise not_simulated("this function of torch.cuda", "There is no GPU.")


def _scatter(t: Any, devices: Any, *rest: Any) -> Any:
    """What `nn.DataParallel` gives to one device; replicas on several are not made."""
    if len(devices) > 1:
        raise not_simulated("nn.DataParallel over several devices", "One device is: device_ids=[0].")
    return (t.to(torch.device("cuda", devices[0])),)


def _scatter_forward(ctx: Any, devices: Any, sizes: Any, dim: int, t: Any) -> Any:
    """As PyTorch's, which makes streams for it by the number of a device: C++ knows no such device."""
    ctx.dim, ctx.input_device = dim, t.get_device()
    return _scatter(t, [each if isinstance(each, int) else each.index for each in devices])


def _gather(machine: Machine, parts: Any, dim: int, place: Any) -> Any:
    """The results of the one device together, where they are wanted; -1 is the CPU."""
    to = CPU if place == -1 else machine.device(place)
    return torch.cat([part.to(to) for part in parts], dim or 0)


def _put_devices(machine: Machine, patches: Patches) -> None:
    cuda, accelerator = torch.cuda, torch.accelerator
    count = len(machine.labels.devices)

    def number(device: Any = None) -> int:
        if device is None or device == -1:
            return machine.current
        index: int = cuda._utils._get_device_index(device, optional=True)
        if not 0 <= index < count:
            raise AssertionError("Invalid device id")
        return index

    def name_of(device: Any = None) -> str:
        index = number(device)
        return f"{NAME} {index}" if count > 1 else NAME

    def synchronize(device: Any = None) -> None:
        if device is not None:
            machine.device(cuda._utils._get_device_index(device, optional=True))

    def set_device(device: Any) -> None:
        index = cuda._utils._get_device_index(device)
        if index >= 0:
            machine.current = machine.device(index).index

    def set_index(device: Any) -> None:
        machine.current = machine.device(device).index or 0

    def exchange(index: int) -> int:
        before = machine.current
        if index >= 0:
            machine.current = machine.device(index).index
        return before

    def properties(device: Any = None) -> Any:
        memory = machine.labels.memories[number(device)]
        return _Properties(name_of(device), memory.capacity)

    def supports_bf16(including_emulation: bool = True) -> bool:
        return True

    functions = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: count,
        "current_device": lambda: machine.current,
        "set_device": set_device,
        "_exchange_device": exchange,
        "_maybe_exchange_device": exchange,
        "synchronize": synchronize,
        "ipc_collect": lambda: None,
        "get_device_name": name_of,
        "get_device_capability": lambda device=None: (number(device) * 0, 0),
        "get_device_properties": properties,
        "can_device_access_peer": lambda device, peer: number(device) != number(peer),
        "is_bf16_supported": supports_bf16,
        "is_tf32_supported": lambda: False,
        "get_arch_list": list,
    }
    for name, function in functions.items():
        patches.put(cuda, name, function)
    kind = torch.device("cuda")
    for name, function in {
        "is_available": lambda: True,
        "device_count": lambda: count,
        "current_accelerator": lambda check_available=False: kind,
        "current_device_index": lambda: machine.current,
        "current_device_idx": lambda: machine.current,
        "set_device_index": set_index,
        "set_device_idx": set_index,
        "synchronize": lambda device=None: None,
    }.items():
        patches.put(accelerator, name, function)
    patches.put(torch._C, "_accelerator_exchangeDevice", exchange)
    patches.put(torch._C, "_accelerator_maybeExchangeDevice", exchange)


def _put_randomness(machine: Machine, patches: Patches) -> None:
    generators = machine.generators

    def own(device: Any = "cuda") -> Any:
        place = machine.device(device)
        return generators.default[place.index if place.type == "cuda" else machine.current]

    def seed_all(seed: int) -> None:
        generators.seed_all(int(seed))

    functions = {
        "manual_seed": lambda seed: own().manual_seed(int(seed)) and None,
        "manual_seed_all": seed_all,
        "seed": lambda: own().seed() and None,
        "seed_all": lambda: seed_all(own().seed()),
        "initial_seed": lambda: own().initial_seed(),
        "get_rng_state": lambda device="cuda": own(device).get_state(),
        "get_rng_state_all": lambda: [each.get_state() for each in generators.default],
        "set_rng_state": lambda new_state, device="cuda": own(device).set_state(new_state) and None,
        "set_rng_state_all": lambda new_states: (
            [each.set_state(state) for each, state in zip(generators.default, new_states, strict=False)]
            and None
        ),
    }
    for owner in (torch.cuda, torch.cuda.random):
        for name, function in functions.items():
            patches.put(owner, name, function)
    patches.put(torch.cuda, "default_generators", tuple(generators.default))
    patches.put(torch.cuda, "_is_in_bad_fork", lambda: False)
    patches.put(Generator, "make_device", machine.device)
    patches.put(torch, "Generator", Generator)


class _OldKind(type):
    """`torch.cuda.FloatTensor`: an old name for a dtype on the device."""

    dtype: torch.dtype
    machine: Machine

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        plain = getattr(torch, cls.__name__)
        place = cls.machine.device("cuda")
        with cls.machine.making_on(CPU):
            made = plain(*args, **kwargs)
        return cls.machine.move(made, place)

    def __instancecheck__(cls, it: Any) -> bool:
        return isinstance(it, torch.Tensor) and bool(it.is_cuda) and it.dtype == cls.dtype


def _put_types(machine: Machine, patches: Patches) -> None:
    for name, old in list(vars(torch.cuda).items()):
        if name.endswith("Tensor") and isinstance(old, type) and hasattr(torch, name):
            about = {"dtype": old.dtype, "machine": machine, "__module__": "torch.cuda"}  # type: ignore[attr-defined]
            patches.put(torch.cuda, name, _OldKind(name, (), about))
    choose: Any = torch.set_default_tensor_type

    def choose_type(t: Any) -> None:
        name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
        on_device = name.startswith("torch.cuda.")
        choose(name.replace("torch.cuda.", "torch."))
        machine.default_of_types = machine.device("cuda") if on_device else None

    patches.put(torch, "set_default_tensor_type", choose_type)
