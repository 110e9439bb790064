"""What is worth saying of a tensor beside shape, strides and dtype: recorded traits, and two that follow.

A quantizer is recorded with the state; that elements share cells follows from shape and strides. The
browser has a twin of this module (`layout/traits.ts`).
"""

from .storage import TensorTrait, TensorView

_MOST_COUNTED = 1 << 16


def traits_of(
    view: TensorView, quantizer: str | None, recorded: tuple[TensorTrait, ...]
) -> tuple[TensorTrait, ...]:
    """All traits of a tensor, in the order they are told."""
    found: list[TensorTrait] = []
    if quantizer is not None:
        found.append(TensorTrait(id="quantized", args={"quantizer": quantizer}))
    found.extend(recorded)
    shared = overlap(view)
    if shared is not None:
        elements, cells = shared
        found.append(TensorTrait(id="overlap", args={"elements": elements, "cells": cells}))
    return tuple(found)


def overlap(view: TensorView) -> tuple[int, int] | None:
    """Elements and the cells they lie in, when some share one; None when none do or it is not known.

    Sorted by stride, dimensions cannot meet as long as each steps over all that the smaller ones reach.
    What is left is counted, dimensions that do not move (stride 0) aside.
    """
    if view.shape is None or view.stride is None or 0 in view.shape:
        return None
    elements = cells = 1
    reach = 0
    apart = True
    moving = sorted((s, n) for n, s in zip(view.shape, view.stride, strict=True) if n > 1)
    for stride, size in moving:
        elements *= size
        if stride == 0:
            continue
        cells *= size
        apart = apart and stride > reach
        reach += (size - 1) * stride
    if not apart:
        counted = _count_cells([(s, n) for s, n in moving if s])
        if counted is None:
            return None
        cells = counted
    return None if cells == elements else (elements, cells)


def _count_cells(moving: list[tuple[int, int]]) -> int | None:
    cells = {0}
    for stride, size in moving:
        if len(cells) * size > _MOST_COUNTED:
            return None
        cells = {cell + i * stride for cell in cells for i in range(size)}
    return len(cells)
