"""What is on a real device is read as it is: few copies, none while a graph is captured, none past the end.

There is no GPU here: see `as_if_real`. What only a GPU can show is in `test_gpu`.
"""

from .as_if_real import run_as_if_real


def test_a_real_device_is_told_of_as_what_it_is() -> None:
    ran, _ = run_as_if_real("x = torch.ones(2, device='cuda')\n")

    assert ran.error is None
    about = ran.state["environment"]
    assert (about["device"], about["simulated"]) == ("cuda", False)
    assert ran.device("x") == "cuda:0"


def test_values_on_a_device_are_copied_once_for_each_change_of_their_storage() -> None:
    ran, copies = run_as_if_real(
        """
        x = torch.arange(6., device="cuda").reshape(2, 3)
        y = x.t()
        z = y[1:]
        x += 1
        n = x.shape
        n = x.dim()
        """
    )

    assert ran.values("y") == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert ran.values("z") == [[2.0, 5.0], [3.0, 6.0]]
    assert ran.state["changed"]["5"] == {"x": ["data"], "y": ["data"], "z": ["data"]}
    assert copies == [24, 24]


def test_a_write_through_data_that_no_version_tells_is_seen() -> None:
    ran, copies = run_as_if_real("x = torch.ones(3, device='cuda')\nx.data.mul_(2)\ny = x.sum()\n")

    assert ran.values("x") == [2.0, 2.0, 2.0]
    assert ran.state["changed"]["3"] == {"x": ["data"]}
    assert copies.count(12) == 2


def test_gradients_on_a_device_are_read_too() -> None:
    ran, _ = run_as_if_real(
        "w = torch.ones(2, device='cuda', requires_grad=True)\n(w * 3).sum().backward()\ng = w.grad\n"
    )

    assert ran.values("g") == [3.0, 3.0]
    assert "autograd" in ran.state["lamps"]["3"]


def test_nothing_is_read_while_a_graph_is_captured() -> None:
    ran, _ = run_as_if_real("x = torch.ones(2, device='cuda')\nx += 1\n", capturing=True)

    assert ran.error is None
    assert ran.values("x") is None


def test_of_a_large_tensor_the_first_elements_are_looked_at() -> None:
    ran, copies = run_as_if_real("x = torch.arange(1 << 20, device='cuda').reshape(1024, 1024)\n")

    summary = ran.events("values")[0]["summary"]
    assert (summary["elements"], summary["looked_at"]) == (1 << 20, 65_536)
    assert (summary["minimum"], summary["maximum"]) == (0, 65_535)
    assert summary["corner"][1][:3] == [1024, 1025, 1026]
    assert max(copies) == 65_536 * 8


def test_a_part_of_a_large_storage_is_read_with_its_strides() -> None:
    ran, copies = run_as_if_real(
        "x = torch.arange(6000., device='cuda')\ny = x[10:].view(-1, 10)[:2, ::5].t()\n"
    )

    assert ran.values("y") == [[10.0, 20.0], [15.0, 25.0]]
    assert 16 * 4 in copies


def test_sparse_and_conjugate_values_are_those_that_pytorch_shows() -> None:
    ran, _ = run_as_if_real(
        """
        s = torch.sparse_coo_tensor([[0, 2]], [1., 3.], (4,), device="cuda")
        c = torch.tensor([1 + 2j], device="cuda").conj()
        """
    )

    assert ran.values("s") == [1.0, 0.0, 3.0, 0.0]
    assert ran.values("c") == [[1.0, -2.0]]


def test_memory_that_is_not_there_is_not_copied() -> None:
    ran, copies = run_as_if_real(
        "x = torch.ones(3, device='cuda')\ny = x.view(3)\nx.untyped_storage().resize_(0)\n"
        "e = x.new_empty(0)\n"
    )

    assert ran.values("y") is None
    assert ran.values("e") == []
    assert all(copies)


def test_the_allocator_tells_its_figures_whenever_they_change() -> None:
    ran, _ = run_as_if_real(
        "x = torch.ones(2, device='cuda')\nn = 1\ny = torch.ones(1 << 19, device='cuda')\ndel y\n"
    )

    told = [
        (e["line"], e["simulated"], e["allocated_bytes"], e["reserved_bytes"], e["segments"])
        for e in ran.events("allocator")
    ]
    mib = 1 << 20
    assert told == [
        (2, False, 512, 2 * mib, 1),
        (4, False, 512 + 2 * mib, 22 * mib, 2),
        (5, False, 512, 22 * mib, 2),
    ]


def test_an_unwatched_run_ends_with_the_same_fingerprint() -> None:
    source = "x = torch.rand(3, device='cuda')\nbig = torch.rand(300, 300, device='cuda').t()\ny = x * 2\n"

    watched, _ = run_as_if_real(source)
    plain, copies = run_as_if_real(source, observed=False)

    assert watched.fingerprint == plain.fingerprint  # type: ignore[attr-defined]
    assert copies == []
