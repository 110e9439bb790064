"""What the simulation has not is refused by name, or has no effect; nothing ends inside PyTorch."""

import pytest

from .running import run

REFUSED = [
    "torch.cuda.memory._snapshot()",
    "torch.cuda.CUDAGraph()",
    "torch.cuda.ExternalStream(0)",
    "torch.cuda.nccl.version()",
    "torch.cuda.get_device_properties(0).warp_size",
    "torch.cuda.caching_allocator_alloc(8)",
    "torch.from_dlpack(x)",
    "torch.utils.dlpack.to_dlpack(x)",
    "torch.export.export(torch.nn.Linear(2, 2).cuda(), (x,))",
]


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What each expression raises, in one program."""
    attempts = "\n".join(
        f"try:\n    {text}\nexcept NotImplementedError as e:\n    print(e)\nelse:\n    print('nothing')"
        for text in REFUSED
    )
    ran = run(f"import torch.export\nx = torch.ones(2, device='cuda')\n{attempts}\n")
    assert ran.error is None
    return ran.printed


@pytest.mark.parametrize("text", REFUSED)
def test_what_needs_a_gpu_is_refused_by_name(said: list[str], text: str) -> None:
    assert said[REFUSED.index(text)].startswith("simulated CUDA: ")


def test_a_program_can_ask_whether_something_is_there() -> None:
    ran = run(
        """
        x = torch.ones(2, device="cuda")
        print(hasattr(torch._C, "_cuda_sleep"), getattr(torch.cuda.get_device_properties(0), "uuid", None))
        print(torch.cuda.get_device_properties(0))
        """
    )

    assert ran.printed == [
        "False None",
        "_CudaDeviceProperties(name='Simulated CUDA device', major=0, minor=0, total_memory=64MB, "
        "multi_processor_count=1)",
    ]


def test_a_profiler_records_the_cpu_and_says_that_there_are_no_kernels() -> None:
    ran = run(
        """
        from torch.profiler import ProfilerActivity, profile
        x = torch.ones(2, device="cuda")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            with torch.cuda.nvtx.range("step"):
                y = x + 1
        print(any(row.key == "aten::add" for row in seen.key_averages()), y.device)
        """
    )

    assert ran.printed == ["True cuda:0"]
    assert [w["message"] for w in ran.state["warnings"]] == [
        "simulated CUDA: the profiler records what runs on the CPU, there are no kernels of a GPU"
    ]
