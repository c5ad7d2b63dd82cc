"""Features whose values after the card do not look like those before."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.additive.state import AdditiveSolution


class ShiftedFeatures(UserWarning):
    """Rows that came after the card occupy a feature otherwise than the rows it was made of.

    Examples
    --------
    >>> from opauc.additive.shifts import ShiftedFeatures
    >>> str(ShiftedFeatures("age", 0.8))[:51]
    'age: later rows do not look like those of the card '
    """

    def __init__(self, name: str, index: float) -> None:
        self.name, self.index = name, index
        super().__init__(
            f"{name}: later rows do not look like those of the card (stability index {index:.2f}, above .25 is much); "
            "give the first rows in random order"
        )


def shifted_features(solution: AdditiveSolution, names: Sequence[str]) -> list[ShiftedFeatures]:
    """Return the features that later rows occupy otherwise, the worst first."""
    if solution.fixed is None:
        return []
    card, model = solution.fixed
    found: dict[str, float] = {}
    starts = card.groups.starts
    for group, index in model.occupancy.shifts(card.groups):
        (name,) = (
            names[inputs[0]]
            for inputs, columns in card.effects.items()
            if len(inputs) == 1 and columns.start <= starts[group] < columns.stop
        )
        found.setdefault(name, index)
    return [ShiftedFeatures(name, index) for name, index in found.items()]
