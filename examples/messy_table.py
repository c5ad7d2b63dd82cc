"""scikit-learn's bundled breast-cancer measurements as a messy CSV file.

The measurements and diagnoses are real. Only five things are simulated: every
row gets a patient number; the mean texture is written as a category (its
thirds); one value in twelve of seven columns is left empty or written "?"; the
labels are strings; the rows are in random order.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

LABEL, TEXTURES = "diagnosis", ("fine", "medium", "coarse")
WITH_MISSING = ("mean radius", "mean area", "mean symmetry", "texture", "worst area", "worst texture", "worst symmetry")
MISSING_SHARE, LEARN_SHARE = 1 / 12, 0.6


def write_messy_table(learn: Path, rest: Path, seed: int = 0) -> None:
    """Write six in ten of the patients to one file and the others to another."""
    rng = np.random.default_rng(seed)
    bundled = load_breast_cancer()
    columns: dict[str, list[str]] = {"patient": [f"P{number:05d}" for number in rng.permutation(bundled.target.size)]}
    for name, values in zip(bundled.feature_names.tolist(), bundled.data.T, strict=True):
        if name == "mean texture":
            name, third = "texture", np.digitize(values, np.quantile(values, [1 / 3, 2 / 3]))
            columns[name] = [TEXTURES[place] for place in third]
        else:
            columns[name] = [f"{value:g}" for value in values]
    for name in WITH_MISSING:
        for row in np.flatnonzero(rng.random(bundled.target.size) < MISSING_SHARE).tolist():
            columns[name][row] = "" if rng.random() < 0.5 else "?"
    columns[LABEL] = ["benign" if label else "malignant" for label in bundled.target]
    order = rng.permutation(bundled.target.size)
    cut = int(LEARN_SHARE * order.size)
    for path, some in ((learn, order[:cut]), (rest, order[cut:])):
        lines = [",".join(columns), *(",".join(columns[name][row] for name in columns) for row in some.tolist())]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
