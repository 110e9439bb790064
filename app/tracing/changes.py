"""Which layers a statement touched: the rule of the four lamps.

`Effects` collects what happens while one statement runs; when it ends they are read once and handed to
the statement that called it, because effects of a call are effects of the calling line too. Facts come
in from the ledger, the graph and the names; nothing here reads a tensor.
"""

from typing import Any

LAYERS = ("data", "metadata", "autograd", "device")

Place = tuple[int, str]
"""A frame and a name in it."""


class Effects:
    """What one execution of a statement has done so far.

    Args:
        first_storage: Id the next storage will get; older ones were there before the statement.
    """

    __slots__ = (
        "autograd",
        "born",
        "first_storage",
        "first_tensor",
        "freed_oldest",
        "lamps",
        "layers",
        "names",
        "peak",
    )

    def __init__(self, first_storage: int) -> None:
        self.first_storage = first_storage
        self.first_tensor = 0
        """Id the first tensor made in the statement will get."""
        self.layers: dict[int, set[str]] = {}
        self.born: dict[int, set[str]] = {}
        self.names: dict[Place, tuple[int | None, int | None]] = {}
        self.autograd = False
        self.freed_oldest: int | None = None
        self.lamps: set[str] = set()
        self.peak: dict[str, int] = {}

    def touch(self, tensor_id: int, layers: set[str]) -> None:
        """A tensor changed in `layers`."""
        known = self.layers.get(tensor_id)
        if known is None:
            self.layers[tensor_id] = set(layers)
        else:
            known |= layers

    def bear(self, tensor_id: int, differs_in: set[str]) -> None:
        """A new tensor differs in these layers from what it was made from."""
        self.born[tensor_id] = differs_in

    def bind(self, frame: int, path: str, old: int | None, new: int | None) -> None:
        """A name led to tensor `old` and now leads to `new`; None for none."""
        place = (frame, path)
        earlier = self.names.get(place)
        self.names[place] = (old if earlier is None else earlier[0], new)

    def free(self, storage_id: int) -> None:
        """A storage's bytes were given back."""
        if self.freed_oldest is None or storage_id < self.freed_oldest:
            self.freed_oldest = storage_id

    def changed(
        self, frame: int, names: dict[str, dict[str, int]], bound_before: set[str]
    ) -> dict[str, list[str]]:
        """Name → what the statement did to it, for the names of its frame.

        Args:
            frame: The statement's frame.
            names: The frame's names now: variable → expression → tensor id.
            bound_before: Expressions of the frame that ever led to a tensor before the statement.
        """
        changed: dict[str, list[str]] = {}
        for (where, path), (old, new) in self.names.items():
            if where != frame or old == new:
                continue
            if new is None:
                changed[path] = ["deleted"]
            elif old is None and path not in bound_before:
                changed[path] = ["new"]
            else:
                changed[path] = ["rebound"]
        if self.layers:
            for paths in names.values():
                for path, tensor_id in paths.items():
                    layers = self.layers.get(tensor_id)
                    if layers and path not in changed:
                        changed[path] = [layer for layer in LAYERS if layer in layers]
        return changed

    def lit(self, changed: dict[str, list[str]]) -> list[str]:
        """The lamps of the statement, given what it did to names."""
        lamps = self.lamps
        for layers in changed.values():
            lamps.update(layers)
        for layers_of_new in self.born.values():
            lamps |= layers_of_new
        if self.freed_oldest is not None and self.freed_oldest < self.first_storage:
            lamps.add("data")
        if self.autograd:
            lamps.add("autograd")
        return [layer for layer in LAYERS if layer in lamps]

    def hand_to(self, caller: "Effects", own_frame: int) -> None:
        """The statement ended: its effects become its caller's as well.

        Not what no caller can be asked for, else deep recursion would hand on ever more: names of the
        frame that was left, tensors made since the caller began.
        """
        for tensor_id, layers in self.layers.items():
            if tensor_id < caller.first_tensor:
                caller.touch(tensor_id, layers)
        for (frame, path), (old, new) in self.names.items():
            if frame != own_frame:
                caller.bind(frame, path, old, new)
        caller.autograd = caller.autograd or self.autograd
        caller.lamps |= self.lamps
        if self.freed_oldest is not None:
            caller.free(self.freed_oldest)
        for device, peak in self.peak.items():
            caller.peak[device] = max(caller.peak.get(device, 0), peak)


def layers_between(old: tuple[Any, ...], new: tuple[Any, ...]) -> set[str]:
    """Layers in which two states of a tensor differ.

    Args:
        old: (view key, storage id, version, node, grad, quantizer), see `storage.State`.
        new: The same, later or of another tensor.
    """
    layers: set[str] = set()
    a, b = old[0], new[0]
    if a is not b and a != b:
        if a[0:5] != b[0:5] or a[7:9] != b[7:9]:
            layers.add("metadata")
        if a[5] != b[5]:
            layers.add("device")
        if a[9:11] != b[9:11]:
            layers.add("autograd")
    if old[5] != new[5]:
        layers.add("metadata")
    if old[1] != new[1] or old[2] != new[2]:
        layers.add("data")
    if old[3] != new[3] or old[4] != new[4]:
        layers.add("autograd")
    return layers
