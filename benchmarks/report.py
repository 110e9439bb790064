"""A figure, what it was taken from, and one line of text about it. It measures nothing."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Something that was measured, once or several times."""

    what: str
    unit: str
    samples: tuple[float, ...]
    at_most: float | None = None
    at_least: float | None = None
    percentile: int = 50
    """Which of the samples counts."""

    @property
    def value(self) -> float:
        """The median, or the percentile that was asked for."""
        return percentile(self.samples, self.percentile)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None


def figure(
    what: str,
    unit: str,
    samples: float | Sequence[float],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    percentile: int = 50,
) -> Figure:
    """A figure of one sample or several."""
    taken = (float(samples),) if isinstance(samples, int | float) else tuple(samples)
    return Figure(
        what=what, unit=unit, samples=taken, at_most=at_most, at_least=at_least, percentile=percentile
    )


def ratios(above: Sequence[float], below: Sequence[float]) -> tuple[float, ...]:
    """Samples of two sides taken in turn → one ratio per turn.

    >>> ratios([2.0, 9.0], [1.0, 3.0])
    (2.0, 3.0)
    """
    return tuple(a / b for a, b in zip(above, below, strict=True))


def percentile(samples: Sequence[float], rank: int) -> float:
    """A percentile, between samples where it falls between two.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.5
    """
    if len(samples) == 1:
        return samples[0]
    if rank == 50:
        return statistics.median(samples)
    return statistics.quantiles(samples, n=100, method="inclusive")[rank - 1]


def line_of(one: Figure) -> str:
    """A figure as a line of text.

    >>> line_of(figure("a step", "ms", [3.0, 1.0, 2.0], at_most=16))
    '  a step                                               2.0 ms    [1.5, 2.5] n 3       at most 16: met'
    """
    spread = ""
    if len(one.samples) > 1:
        low, high = percentile(one.samples, 25), percentile(one.samples, 75)
        spread = f"[{_number(low)}, {_number(high)}] n {len(one.samples)}"
    target = ""
    if one.is_met is not None:
        bound = f"at most {one.at_most:g}" if one.at_most is not None else f"at least {one.at_least:g}"
        target = f"{bound}: {'met' if one.is_met else 'MISSED'}"
    return f"  {one.what:<44} {_number(one.value):>9} {one.unit:<5} {spread:<21} {target}".rstrip()


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 2 else f"{value:.2f}"
