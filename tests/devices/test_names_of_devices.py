"""The ways in which programs name a device: its kind, its number, a tensor that is on it."""

from .running import run


def test_a_bare_number_is_a_device_of_the_accelerator() -> None:
    ran = run(
        """
        device = torch.device(torch.cuda.current_device())
        net = torch.nn.Linear(2, 2)
        print(device, net.to(0).weight.device, torch.ones(1, device=device).device)
        print(net.cpu().to(device=0, dtype=torch.float64).weight.dtype, net.weight.device)
        print(net.cpu().to(torch.ones(1, device="cuda")).weight.device)
        with torch.accelerator.device_index(0):
            print(torch.get_device_module(device).__name__)
        """
    )

    assert (ran.error, ran.printed) == (
        None,
        ["cuda:0 cuda:0 cuda:0", "torch.float64 cuda:0", "cuda:0", "torch.cuda"],
    )


def test_devices_compare_pickle_and_annotate_as_ever() -> None:
    ran = run(
        """
        import copy, pickle
        here = torch.ones(1, device="cuda").device
        def place(where: torch.device | None = None) -> str:
            match where:
                case torch.device(type="cuda"):
                    return "on it"
            return "off it"
        print(torch.device("cuda") == here, torch.device("cuda", 0) == here, torch.device("cuda").index)
        print(isinstance(here, torch.device), type(here) == torch.device, torch.device, place(here))
        print(pickle.loads(pickle.dumps(here)), copy.deepcopy({"d": here}))
        """
    )

    assert (ran.error, ran.printed) == (
        None,
        [
            "False True None",
            "True True <class 'torch.device'> on it",
            "cuda:0 {'d': device(type='cuda', index=0)}",
        ],
    )


def test_what_a_thread_makes_on_a_device_is_there() -> None:
    ran = run(
        """
        import threading
        made = []
        thread = threading.Thread(target=lambda: made.append(torch.ones(2, device="cuda") * 2))
        thread.start()
        thread.join()
        print(made[0].device)
        """
    )

    assert ran.printed == ["cuda:0"]


def test_a_number_that_is_no_device_is_refused_as_by_each_function_of_cuda() -> None:
    ran = run(
        """
        def attempt(f, *given):
            try:
                f(*given)
            except Exception as e:
                print(type(e).__name__, str(e).splitlines()[0])
        attempt(torch.cuda.get_device_name, 5)
        attempt(torch.cuda.memory_allocated, 5)
        attempt(torch.cuda.memory_allocated, "cpu")
        attempt(torch.cuda.set_device, "cpu")
        attempt(torch.cuda.set_device, 5)
        """
    )

    assert ran.printed == [
        "AssertionError Invalid device id",
        "RuntimeError Invalid device argument 5: did you call init?",
        "ValueError Expected a cuda device, but got: cpu",
        "ValueError Expected a cuda device, but got: cpu",
        "AcceleratorError CUDA error: invalid device ordinal",
    ]


def test_the_old_way_to_choose_a_device_for_all_tensors() -> None:
    ran = run(
        """
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
        print(torch.ones(1).device, torch.tensor([1.5]).device, torch.nn.Linear(1, 1).weight.device)
        torch.set_default_tensor_type("torch.DoubleTensor")
        print(torch.ones(1).device, torch.ones(1).dtype)
        """
    )

    assert ran.printed == ["cuda:0 cuda:0 cuda:0", "cpu torch.float64"]
