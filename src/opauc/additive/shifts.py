"""Features whose values after the basis do not look like those before."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.additive.state import AdditiveFit


class FeatureDrift(UserWarning):
    """Rows that came after the basis occupy a feature otherwise than the rows it was made of.

    Examples
    --------
    >>> from opauc.additive.shifts import FeatureDrift
    >>> str(FeatureDrift("age", 0.8))[:51]
    'age: later rows do not look like those of the basis '
    """

    def __init__(self, name: str, index: float) -> None:
        self.name, self.index = name, index
        super().__init__(
            f"{name}: later rows do not look like those of the basis (stability index {index:.2f}, above .25 is much); "
            "give the first rows in random order"
        )


def find_drift(solution: AdditiveFit, names: Sequence[str]) -> list[FeatureDrift]:
    """Return the features that later rows occupy otherwise, the worst first."""
    if solution.fixed is None:
        return []
    basis, model = solution.fixed
    found: dict[str, float] = {}
    starts = basis.groups.starts
    for group, index in model.bin_counts.shifts(basis.groups):
        (name,) = (
            names[inputs[0]]
            for inputs, columns in basis.effects.items()
            if len(inputs) == 1 and columns.start <= starts[group] < columns.stop
        )
        found.setdefault(name, index)
    return [FeatureDrift(name, index) for name, index in found.items()]
