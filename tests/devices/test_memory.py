"""The memory of a simulated device: what is allocated, reserved, given back, and when it is full."""

import pytest
from tensor_anatomy.tracing.simulated_cuda.allocator import MIB, Allocator, DeviceFull

from .running import run


def test_requests_are_rounded_and_small_ones_share_a_segment() -> None:
    memory = Allocator(64 * MIB)

    memory.allocate(1)
    memory.allocate(513)

    assert (memory.allocated, memory.reserved) == (512 + 1024, 2 * MIB)


@pytest.mark.parametrize(
    ("nbytes", "reserved"),
    [
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
    ],
)
def test_a_segment_is_as_large_as_the_request_is_of_a_kind(nbytes: int, reserved: int) -> None:
    memory = Allocator(64 * MIB)

    memory.allocate(nbytes)

    assert memory.reserved == reserved


def test_nothing_is_taken_for_an_empty_tensor() -> None:
    memory = Allocator(64 * MIB)

    assert memory.allocate(0) is None
    assert memory.reserved == 0


def test_a_freed_block_is_used_again_and_joins_its_neighbours() -> None:
    memory = Allocator(64 * MIB)
    first, second, third = (memory.allocate(512) for _ in range(3))
    memory.free(first)
    memory.free(third)
    memory.free(second)

    again = memory.allocate(MIB)

    assert again is not None
    assert (again.start, memory.reserved, memory.allocated) == (0, 2 * MIB, MIB)


def test_the_smallest_free_block_that_fits_is_taken() -> None:
    memory = Allocator(64 * MIB)
    large, _, small, _ = (memory.allocate(n) for n in (4096, 512, 1024, 512))
    assert large is not None
    assert small is not None
    start = small.start
    memory.free(large)
    memory.free(small)

    again = memory.allocate(1024)

    assert again is not None
    assert again.start == start


def test_one_small_tensor_keeps_a_whole_segment_from_being_given_back() -> None:
    memory = Allocator(64 * MIB)
    kept, others = memory.allocate(512), [memory.allocate(4096) for _ in range(9)]
    for block in others:
        memory.free(block)

    memory.empty_cache()
    assert (memory.allocated, memory.reserved) == (512, 2 * MIB)

    memory.free(kept)
    memory.empty_cache()
    assert (memory.allocated, memory.reserved) == (0, 0)


def test_a_device_with_room_in_pieces_is_full_for_a_large_request() -> None:
    memory = Allocator(64 * MIB)
    blocks = [memory.allocate(5 * MIB) for _ in range(12)]
    for block in blocks[::2]:
        memory.free(block)
    assert memory.reserved - memory.allocated == 30 * MIB

    with pytest.raises(DeviceFull):
        memory.allocate(12 * MIB)
    assert (memory.retries, memory.failures) == (1, 1)


def test_the_cache_is_given_back_before_a_device_is_full() -> None:
    memory = Allocator(64 * MIB)
    memory.free(memory.allocate(40 * MIB))

    memory.allocate(60 * MIB)

    assert (memory.reserved, memory.retries) == (60 * MIB, 1)


def test_a_program_sees_what_is_allocated_and_reserved() -> None:
    ran = run(
        """
        def memory():
            return torch.cuda.memory_allocated(), torch.cuda.memory_reserved() >> 20
        a = torch.ones(1, device="cuda")
        b = torch.ones(300, 1000, device="cuda")
        print(memory())
        c = b.view(1000, 300)
        del b
        print(memory())
        del c
        print(memory(), torch.cuda.max_memory_allocated())
        torch.cuda.empty_cache()
        print(memory())
        torch.cuda.reset_peak_memory_stats()
        print(torch.cuda.max_memory_allocated())
        """
    )

    assert ran.printed == ["(1200640, 22)", "(1200640, 22)", "(512, 22) 1200640", "(512, 2)", "512"]


def test_a_full_device_raises_in_the_words_of_cuda_and_says_who_keeps_most() -> None:
    ran = run(
        """
        weights = torch.zeros(1 << 21, device="cuda")
        kept = []
        for i in range(100):
            kept.append(torch.zeros(1 << 20, device="cuda"))
        """,
        device_bytes=32 << 20,
    )

    assert ran.error is not None
    assert ran.error.startswith(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. "
        "GPU 0 has a total capacity of 32.00 MiB of which 12.00 MiB is free. "
    )
    assert "Of the allocated memory 20.00 MiB is allocated by PyTorch, and 0 bytes is reserved" in ran.error
    explanation = ran.trace["explanation"]
    assert explanation["class"] == "out-of-memory"
    assert explanation["sentences"][0]["args"]["holders"][0] == "weights"
    assert explanation["sentences"][-1]["id"] == "error.simulated"


def test_a_program_goes_on_after_a_full_device() -> None:
    ran = run(
        """
        x = torch.zeros(1 << 22, device="cuda")
        try:
            y = torch.zeros(1 << 40, device="cuda")
        except torch.cuda.OutOfMemoryError as e:
            print(isinstance(e, RuntimeError), str(e)[:48])
        del x
        torch.cuda.empty_cache()
        print(torch.zeros(1 << 22, device="cuda").device, torch.cuda.memory_stats()["num_ooms"])
        """
    )

    assert ran.printed == ["True CUDA out of memory. Tried to allocate 4096.00 Gi", "cuda:0 1"]


def test_a_move_doubles_memory_as_long_as_the_source_is_held() -> None:
    ran = run("x = torch.zeros(1 << 18)\ny = x.cuda()\ndel x\nz = y.cpu()\n")

    assert ran.state["bytes"]["alive"] == {"cuda:0": 1 << 20, "cpu": 1 << 20}
    assert ran.state["bytes"]["peak"] == {"cuda:0": 1 << 20, "cpu": 1 << 20}
    copies = [
        (e["line"], e["source_device"], e["target_device"], e["nbytes"]) for e in ran.events("transfer")
    ]
    assert copies == [(3, "cpu", "cuda:0", 1 << 20), (5, "cuda:0", "cpu", 1 << 20)]


def test_statistics_tell_pools_requests_and_totals_apart() -> None:
    ran = run(
        """
        small = torch.ones(100, device="cuda")
        large = torch.ones(1 << 20, device="cuda")
        del large
        torch.cuda.empty_cache()
        s = torch.cuda.memory_stats()
        for kind in ("allocated_bytes", "requested_bytes", "allocation", "reserved_bytes", "segment"):
            row = [[s[f"{kind}.{pool}.{f}"] for f in ("current", "peak", "allocated", "freed")]
                   for pool in ("small_pool", "large_pool")]
            print(kind, *row)
        print(s["num_device_alloc"], s["num_device_free"])
        torch.cuda.reset_accumulated_memory_stats()
        print(torch.cuda.memory_stats()["allocation.all.allocated"])
        """
    )

    mib = 1 << 20
    assert ran.printed == [
        f"allocated_bytes [512, 512, 512, 0] [0, {4 * mib}, {4 * mib}, {4 * mib}]",
        f"requested_bytes [400, 400, 400, 0] [0, {4 * mib}, {4 * mib}, {4 * mib}]",
        "allocation [1, 1, 1, 0] [0, 1, 1, 1]",
        f"reserved_bytes [{2 * mib}, {2 * mib}, {2 * mib}, 0] [0, {20 * mib}, {20 * mib}, {20 * mib}]",
        "segment [1, 1, 1, 0] [0, 1, 1, 1]",
        "2 1",
        "0",
    ]
