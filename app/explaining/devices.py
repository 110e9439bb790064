"""Sentences about the device layer of a step: where bytes are, and copies between devices."""

from ..schema import Sentence
from .moment import Moment
from .wording import say


def device_sentences(moment: Moment) -> list[Sentence]:
    """Say what a step did on devices.

    Args:
        moment: The step.

    Returns:
        At least one sentence.
    """
    said = [*_transfers(moment), *_changed(moment)]
    if not said:
        said = _new(moment)
    return said or [_none(moment)]


def _transfers(moment: Moment) -> list[Sentence]:
    """Bytes copied, summed per pair of devices."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for event in moment.events:
        if event.kind == "transfer":
            way = (event.source_device, event.target_device)
            n, nbytes = totals.get(way, (0, 0))
            totals[way] = (n + 1, nbytes + event.nbytes)
    return [
        say("device", "device.copied", n=n, nbytes=nbytes, source=source, target=target)
        for (source, target), (n, nbytes) in totals.items()
    ]


def _changed(moment: Moment) -> list[Sentence]:
    moved: dict[tuple[str, str], list[str]] = {}
    for tensor, name in moment.changed_tensors.items():
        before = moment.before(tensor)
        if before is None or moment.state(tensor) is None:
            continue
        old, new = moment.chronicle.trace.views[before.view].device, moment.look(tensor).device
        if old != new:
            moved.setdefault((old, new), []).append(name)
    return [
        say("device", "device.moved", names=names, device=new, old=old) for (old, new), names in moved.items()
    ]


def _new(moment: Moment) -> list[Sentence]:
    """New tensors that are not on the CPU."""
    by_device: dict[str, list[str]] = {}
    for tensor, names in moment.bound.items():
        if moment.state(tensor) is not None and moment.before(tensor) is None:
            device = moment.look(tensor).device
            if device != "cpu":
                by_device.setdefault(device, []).append(names[0])
    return [
        say("device", "device.meta" if device == "meta" else "device.on", names=names, device=device)
        for device, names in by_device.items()
    ]


def _none(moment: Moment) -> Sentence:
    if moment.lit("device"):
        return say("device", "device.touched")
    used = moment.chronicle.devices.at(moment.end) or ("cpu",)
    if len(used) > 1:
        return say("device", "device.none-moved", devices=list(used))
    return say("device", "device.none", device=used[0])
