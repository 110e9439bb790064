"""`torch.cuda`, `torch.accelerator` and what else speaks of devices, for simulated ones.

Statistics come from the model of the caching allocator, through PyTorch's own Python code wherever that
computes them from others. Everything is over when it returns: streams order nothing, events measure nothing.
"""

import threading
from typing import Any

import torch

from .absent import NotThere, refuse_what_is_not_there, refusing
from .autocast import put_autocast
from .generators import Generator
from .kinds import put_kinds
from .labels import SIMULATED
from .machine import Machine
from .memory import put_memory
from .parallel import put_parallel
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
    put_kinds(machine, patches)
    patches.put(cuda, "_lazy_init", _refuse)
    patches.put(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    grouped = torch._C._group_tensors_by_device_and_dtype

    def group(tensors: Any, *rest: Any, **kwargs: Any) -> Any:
        groups = grouped(tensors, *rest, **kwargs)
        return {(_device_of_group(lists, d), dtype): lists for (d, dtype), lists in groups.items()}

    patches.put(torch._C, "_group_tensors_by_device_and_dtype", group)
    put_parallel(machine, patches)
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


def _put_devices(machine: Machine, patches: Patches) -> None:
    cuda, accelerator = torch.cuda, torch.accelerator

    def number(device: Any = None) -> int:
        seen = machine.use()
        if device is None or device == -1:
            return machine.current
        index: int = cuda._utils._get_device_index(device, optional=True)
        if not 0 <= index < seen:
            raise AssertionError("Invalid device id")
        return index

    def name_of(device: Any = None) -> str:
        index = number(device)
        return f"{NAME} {index}" if machine.count() > 1 else NAME

    def synchronize(device: Any = None) -> None:
        machine.use()
        if device is not None:
            machine.device(cuda._utils._get_device_index(device, optional=True))
        machine.faults.raise_if_lost()

    def start() -> None:
        machine.use()

    def current() -> int:
        machine.use()
        return machine.current

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
        "is_available": lambda: machine.count() > 0,
        "is_initialized": lambda: machine.used,
        "init": start,
        "_lazy_call": lambda call, **options: call(),
        "device_count": lambda: machine.count(settle=machine.used),
        "current_device": current,
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
        "is_available": lambda: machine.count() > 0,
        "device_count": lambda: machine.count(settle=machine.used),
        "current_accelerator": lambda check_available=False: (
            kind if not check_available or machine.count() else None
        ),
        "current_device_index": current,
        "current_device_idx": current,
        "set_device_index": set_index,
        "set_device_idx": set_index,
        "synchronize": synchronize,
        "get_device_capability": refusing("torch.accelerator.get_device_capability", "There is no GPU."),
    }.items():
        patches.put(accelerator, name, function)
    patches.put(torch._C, "_get_accelerator", lambda check=None: kind)
    patches.put(torch._C, "_accelerator_exchangeDevice", exchange)
    patches.put(torch._C, "_accelerator_maybeExchangeDevice", exchange)


def _put_randomness(machine: Machine, patches: Patches) -> None:
    generators = machine.generators

    def own(device: Any = "cuda") -> Any:
        place = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        machine.use()
        number = getattr(place, "index", None)  # mypy knows no device without one
        return torch.cuda.default_generators[machine.current if number is None else number]

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
