"""Sentences about what a tensor is beside its view: quantized, batched by `vmap`, without its bytes.

One sentence per kind of trait, for all tensors of a step that got it; each belongs to one layer.
"""

from ..schema import Layer, Sentence, TensorTrait
from .moment import Moment
from .wording import say

_SAID = 3
_LAYER: dict[str, Layer] = {
    "bytes-freed": "data",
    "grad-fn-unavailable": "autograd",
    "inference": "autograd",
    "dual": "autograd",
}
_SAID_WITH_THE_STORAGE = frozenset({"foreign-memory", "scalar"})


def is_uninitialized(moment: Moment, tensor: int) -> bool:
    """A lazy parameter: there is no shape or stride to tell."""
    return any(trait.id == "uninitialized" for trait in moment.chronicle.recorded_traits(tensor, moment.end))


def trait_sentences(moment: Moment, layer: Layer) -> list[Sentence]:
    """Say which tensors with names got which traits in the step.

    Args:
        moment: The step.
        layer: The layer to speak of.

    Returns:
        No sentence when there is nothing of that kind.
    """
    chronicle = moment.chronicle
    named = {tensor: names[0] for tensor, names in moment.bound.items() if moment.before(tensor) is None}
    named.update(moment.changed_tensors)
    found: dict[str, tuple[TensorTrait, list[str]]] = {}
    for tensor, name in named.items():
        before = chronicle.traits(tensor, moment.begin)
        for trait in chronicle.traits(tensor, moment.end):
            known = trait.id in _SAID_WITH_THE_STORAGE or trait in before
            if not known and _LAYER.get(trait.id, "metadata") == layer:
                found.setdefault(f"{trait.id} {trait.args}", (trait, []))[1].append(name)
    return [
        say(layer, f"trait.{trait.id}.told", names=names, **trait.args)
        for trait, names in list(found.values())[:_SAID]
    ]
