"""What changed, in sentences: for every step at least one per layer, "no change" included."""

from ..schema import Fold, Sentence, Step
from ..schema.replay import LAYER_ORDER
from .autograd import autograd_sentences
from .circumstances import circumstance_sentences
from .compiler import compiler_sentences
from .devices import device_sentences
from .moment import Moment
from .storage import data_sentences, metadata_sentences
from .wording import say


def step_sentences(moment: Moment) -> tuple[Sentence, ...]:
    """Say what a step changed.

    Args:
        moment: The step.

    Returns:
        Sentences in the order of the layers, those about names first.
    """
    fold = moment.step.fold
    if fold is not None:
        loop = None if fold.loop is None else moment.chronicle.trace.statements[fold.loop].range.line
        return _folded(moment.step, fold, loop)
    return (
        *circumstance_sentences(moment),
        *compiler_sentences(moment),
        *_name_sentences(moment),
        *data_sentences(moment),
        *metadata_sentences(moment),
        *autograd_sentences(moment),
        *device_sentences(moment),
    )


def _folded(step: Step, fold: Fold, loop: int | None) -> tuple[Sentence, ...]:
    """What many executions did together: each was not kept, but what they touched was."""
    said = [say(None, "names.folded", n=step.executions)]
    if loop is not None:
        said = [
            say(None, "names.folded-loop", n=step.executions, line=loop, first=fold.first, last=fold.last)
        ]
    for layer in LAYER_ORDER:
        names = [name for name, changes in step.changed.items() if layer in changes]
        if layer not in step.lamps:
            said.append(say(layer, f"{layer}.none-folded"))
        elif names:
            said.append(say(layer, f"{layer}.folded", names=names))
        else:
            said.append(say(layer, f"{layer}.folded-unnamed"))
    return tuple(said)


def _name_sentences(moment: Moment) -> list[Sentence]:
    """Second names of a tensor, deleted names."""
    said: list[Sentence] = []
    for tensor, names in moment.bound.items():
        if moment.before(tensor) is None:
            continue
        others = [n for n in moment.chronicle.names(tensor, moment.end, moment.frame) if n not in names]
        if others and not _inner(others[0], names):
            said.append(say(None, "names.alias", names=names, others=others[:1]))
    if moment.deleted:
        said.append(say(None, "names.deleted", names=moment.deleted))
    return said[:3]


def _inner(other: str, names: list[str]) -> bool:
    """The tensor was only put into a container, or taken out of one."""
    return any(other.startswith((name + ".", name + "[")) for name in names)
