"""What is said of a large storage by tiles: held against PyTorch, cell by cell."""

import math
from typing import Any

import pytest
import torch
from tensor_anatomy.schema import StorageTiles, TileGrid, Trace
from tensor_anatomy.schema.tiles import MOST_TILES, figures_of, tiles_across, tiles_down
from tensor_anatomy.tracing.reading import memory_at
from tensor_anatomy.tracing.tiles import DTYPES, row_length, tiles

from ..conftest import LIMITS
from .children import in_child

STEP = 2**-11
"""Of a bound: floats of 20 bits have 11 of a fraction."""


def grid_of(t: torch.Tensor) -> TileGrid:
    """The tiles of a tensor's whole storage, in rows of the tensor."""
    storage = t.untyped_storage()
    columns = row_length(tuple(t.shape), t.stride()) or storage.nbytes()
    found = tiles(memory_at(storage.data_ptr(), storage.nbytes()), str(t.dtype), columns)
    assert found is not None
    return TileGrid.model_validate(found)


def whole(t: torch.Tensor) -> torch.Tensor:
    """All numbers of a tensor's storage, in address order, as float64; absolute values of complex ones."""
    flat = torch.tensor([], dtype=t.dtype).set_(t.untyped_storage())
    if flat.is_complex():
        wide = flat.to(torch.complex64) if flat.dtype == torch.complex32 else flat
        return wide.abs().to(torch.float64)
    return flat.to(torch.float64)


def tile_of_cells(grid: TileGrid) -> torch.Tensor:
    """The tile of every cell, by division."""
    cells = torch.arange(grid.cells)
    rows, columns = cells // grid.columns, cells % grid.columns
    return rows // grid.height * tiles_across(grid) + columns // grid.width


def check(t: torch.Tensor) -> TileGrid:
    """Every figure of every tile is that of its cells."""
    grid, numbers = grid_of(t), whole(t)
    assert grid.cells == grid.looked_at == numbers.numel()
    where, figures = tile_of_cells(grid), figures_of(grid)
    assert len(figures) == tiles_down(grid) * tiles_across(grid) <= MOST_TILES
    odd = {first + k: (nan, inf) for first, count, nan, inf in grid.odd for k in range(count)}
    for tile, (low, high, mean) in enumerate(figures):
        own = numbers[where == tile]
        finite = own[own.isfinite()]
        nan = int(own.isnan().sum())
        assert odd.get(tile, (0, 0)) == (nan, own.numel() - finite.numel() - nan)
        if finite.numel() == 0:
            assert (low, high, mean) == (None, None, None)
            continue
        assert low is not None and high is not None and mean is not None
        least, most = finite.min().item(), finite.max().item()
        room = STEP * max(abs(least), abs(most)) + 2e-42
        if least == most:
            assert low == high and math.isclose(low, least, rel_tol=STEP, abs_tol=2e-42)
            continue
        assert least - room <= low <= least and most <= high <= most + room
        assert math.isclose(mean, finite.mean().item(), abs_tol=(high - low) / 65_535 + room * 1e-3)
    return grid


def numbers_of(dtype: torch.dtype) -> torch.Tensor:
    """60 × 83 numbers of a dtype, from small to large."""
    if dtype.is_complex:
        return torch.randn(60, 83, dtype=torch.complex64).to(dtype)
    if dtype == torch.bool:
        return torch.rand(60, 83) > 0.7
    if dtype.is_floating_point:
        return (torch.randn(60, 83) * torch.logspace(-3, 3, 83)).to(dtype)
    least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    return (torch.rand(60, 83, dtype=torch.float64) * (most - least) + least).to(torch.int64).to(dtype)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_tiles_hold_the_bounds_and_the_mean_of_their_cells_in_every_dtype(name):
    torch.manual_seed(0)
    if name == "torch.uint64":
        check((torch.rand(60, 83, dtype=torch.float64) * 2**63).to(torch.int64).view(torch.uint64))
    else:
        check(numbers_of(DTYPES[name]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(5000),
        lambda: torch.randn(70, 80).t(),
        lambda: torch.randn(6000)[17 : 17 + 70 * 80].view(70, 80),
        lambda: torch.randn(100, 90)[::2, 1:],
        lambda: torch.randn(4, 3, 30, 31),
        lambda: torch.randn(4, 3, 30, 31).contiguous(memory_format=torch.channels_last),
        lambda: torch.randn(3000, 2),
        lambda: torch.randn(2, 3000),
        lambda: torch.randn(3000, 1).expand(3000, 50),
        lambda: torch.randn(5000).unfold(0, 8, 1),
        lambda: torch.randn(80, 80).flip(0),
        lambda: torch.full((80, 80), 0.1),
    ],
    ids=[
        "one row",
        "transposed",
        "rows that do not fill the storage",
        "sliced",
        "four dimensions",
        "channels last",
        "two columns",
        "two rows",
        "expanded",
        "windows",
        "flipped",
        "one value",
    ],
)
def test_tiles_cut_the_storage_in_address_order_whatever_views_it(make):
    torch.manual_seed(1)
    check(make())


def test_rows_are_those_of_memory_also_of_a_transposed_or_sliced_tensor():
    x = torch.zeros(100, 90)
    assert [grid_of(t).columns for t in (x, x.t(), x[3:, ::2], x.view(10, 10, 90))] == [90] * 4
    assert grid_of(torch.zeros(9000)).columns == 9000


def test_what_is_not_finite_is_counted_apart():
    t = torch.randn(100, 100)
    t[:20, :20] = float("nan")
    t[50, 50], t[51, 51], t[99, 99] = float("inf"), float("-inf"), float("nan")
    grid = check(t)
    assert (None, None, None) in figures_of(grid)


def test_a_sum_beyond_float32_is_no_sum_that_is_not_finite():
    check(torch.full((100, 100), 3e38) * torch.tensor([1.0, -1.0, 1.0, 1.0]).repeat(25))
    assert grid_of(torch.full((100, 100), 1e308, dtype=torch.float64)).odd == ()


def test_beyond_float32_a_bound_is_infinite_and_the_mean_unknown():
    t = torch.randn(100, 100, dtype=torch.float64)
    t[0, 0] = -1e300
    first = figures_of(grid_of(t))[0]
    assert first.low == -math.inf and first.mean is None


def test_of_more_than_a_million_cells_a_sample_is_looked_at_in_every_tile():
    torch.manual_seed(2)
    t = torch.randn(1500, 1001) + torch.arange(1500.0)[:, None] / 100
    grid, numbers = grid_of(t), whole(t)
    assert 40_000 < grid.looked_at <= 65_536 < grid.cells
    where = tile_of_cells(grid)
    for tile, (low, high, mean) in enumerate(figures_of(grid)):
        own = numbers[where == tile]
        assert low is not None and high is not None and mean is not None
        assert own.min() - 0.02 <= low < high <= own.max() + 0.02
        assert abs(mean - own.mean()) < 0.3


def test_a_sample_leaves_out_a_last_row_that_is_not_full():
    t = torch.randn(2_000_100)[:2_000_000].view(4, 500_000)
    grid = grid_of(t)
    assert grid.columns == 500_000 and len(figures_of(grid)) == tiles_down(grid) * tiles_across(grid)
    assert figures_of(grid)[-1] == (None, None, None)


# ---- in a program


def told(trace: Trace, storage: int | None = None) -> list[tuple[int, StorageTiles]]:
    """Steps and what they told of tiles."""
    return [
        (number, event)
        for number, step in enumerate(trace.steps, 1)
        for event in step.events
        if event.kind == "tiles" and storage in (None, event.storage)
    ]


def test_tiles_are_told_at_first_sight_and_when_values_changed(trace_of):
    trace = trace_of("""
        import torch
        x = torch.zeros(100, 100)
        y = x.t()
        z = y[3:]
        x[:50].add_(1)
        y = None
    """)
    (first, zeros), (second, changed) = told(trace)
    assert (first, second) == (2, 5) and zeros.grid is not None and changed.grid is not None
    assert {mean for _, _, mean in figures_of(zeros.grid)} == {0.0}
    means = [mean for _, _, mean in figures_of(changed.grid)]
    assert means[0] == 1.0 and means[-1] == 0.0


def test_tiles_stay_where_they_are_when_another_view_comes(trace_of):
    trace = trace_of("""
        import torch
        x = torch.zeros(10_000)
        y = x.view(100, 100)
        y.add_(1)
    """)
    grids = [event.grid for _, event in told(trace)]
    assert [grid and (grid.columns, grid.height, grid.width) for grid in grids] == [(10_000, 1, 65)] * 2


def test_small_storages_and_those_without_a_name_or_memory_have_no_tiles(trace_of):
    trace = trace_of("""
        import torch
        a = torch.zeros(2048)
        s = (torch.zeros(100, 100) + 1).sum()
        m = torch.zeros(100, 100, device="meta")
        q = torch.quantize_per_tensor(torch.zeros(100, 100), 0.1, 0, torch.qint8)
    """)
    assert told(trace) == []


def test_a_gradient_has_tiles_and_so_has_what_a_called_function_writes(trace_of):
    trace = trace_of("""
        import torch
        def f(t):
            t.add_(1)
            return t
        def g():
            x = torch.zeros(100, 100)
            f(x)
            return x
        y = g()
        w = torch.ones(100, 100, requires_grad=True)
        (w * 3).sum().backward()
    """)
    by_storage: dict[int, list[Any]] = {}
    for _, event in told(trace):
        assert event.grid is not None
        by_storage.setdefault(event.storage, []).append(figures_of(event.grid)[0].mean)
    assert sorted(by_storage.values()) == [[0.0, 1.0], [1.0], [3.0]]


def test_a_loop_is_told_three_times_then_that_it_is_not_told_and_in_the_end_once_more(trace_of):
    trace = trace_of("""
        import torch
        w = torch.zeros(100, 100)
        for i in range(9):
            w.add_(1)
    """)
    means = [None if e.grid is None else figures_of(e.grid)[0].mean for _, e in told(trace)]
    assert means == [0.0, 1.0, 2.0, 3.0, None, 9.0]
    assert [e.late for _, e in told(trace)] == [False] * 5 + [True]


def test_folded_iterations_do_not_bring_back_old_tiles(trace_of):
    trace = trace_of(
        """
        import torch
        w = torch.zeros(100, 100)
        for i in range(60):
            w.add_(1)
        """,
        limits=LIMITS.model_copy(update={"steps_kept": 24}),
    )
    last = told(trace)[-1][1]
    assert last.grid is not None and figures_of(last.grid)[0].mean == 60.0


def test_a_run_with_many_large_tensors_keeps_to_a_few_hundred_kilobytes(trace_of):
    lines = "\n".join(f"t{i} = torch.randn(60, 60) + {i}" for i in range(150))
    trace = trace_of("import torch\n" + lines)
    grids = [e.grid for _, e in told(trace) if e.grid is not None]
    assert 50 < len(grids) < 140
    assert sum(len(g.model_dump_json()) for g in grids) < 250_000


def test_a_storage_that_shrank_is_read_no_further_than_it_reaches():
    def work() -> list[int]:
        from ..conftest import record

        trace = record(
            "import torch\nx = torch.zeros(100, 100)\n"
            "x.untyped_storage().resize_(20000)\nx.untyped_storage().resize_(0)\ny = 1\n"
            "x.untyped_storage().resize_(40000)\nx.fill_(2)\n"
        )
        return [0 if e.grid is None else e.grid.cells for _, e in told(trace)]

    assert set(in_child(work)) <= {10_000, 5_000, 0}


def test_memory_of_numpy_is_told_when_numpy_wrote_it(trace_of):
    trace = trace_of("""
        import numpy, torch
        a = numpy.zeros((100, 100), dtype=numpy.float32)
        x = torch.from_numpy(a)
        a[:] = 4
        y = 1
    """)
    means = [figures_of(e.grid)[0].mean for _, e in told(trace) if e.grid is not None]
    assert means == [0.0, 4.0]


def test_being_told_by_tiles_changes_no_version_no_generator_and_no_peak(trace_of, state_after):
    source = """
        import torch
        torch.manual_seed(3)
        x = torch.randn(300, 300)
        y = torch.randn(300, 300, dtype=torch.float64)
        r = torch.rand(3).tolist()
        v = x._version, y._version, y.untyped_storage().nbytes()
        print(r, v)
    """
    torch.manual_seed(3)
    torch.randn(300, 300), torch.randn(300, 300, dtype=torch.float64)
    expected = torch.rand(3).tolist()
    state = state_after(source)
    assert state["stdout"] == f"{expected} {(0, 0, 720_000)}\n"
    assert state["bytes"]["peak"]["cpu"] <= 360_000 + 720_000 + 64


def test_a_snapshot_of_a_large_tensor_takes_less_than_5_kb(trace_of):
    trace = trace_of("import torch\nx = torch.randn(1100, 1000)\n")
    assert len(trace.steps[1].model_dump_json()) < 5_000
