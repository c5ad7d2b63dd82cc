"""The tables of docs/benchmarks/tables.md from the trials that `experiments.tables --store` has kept.

    python -m experiments.tables_report STORE [--rows 100000] [--threads 1]

For each set the means over the splits of each method: AUC and CPU seconds of the fit, then log loss, calibration
error, and predicted over observed positives. Of the two settings of early stopping, the one with the higher AUC on the
held-out rows is shown. Differences are over the splits that both methods have; cells of fewer splits than OnePassGAM
has say how many.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from experiments.datasets import available, raw_available
from experiments.tables import Store, Trial

EARLY_SETTINGS, EARLY = ("early31", "early63"), "early stop"
PEERS = ("high", "lightgbm", EARLY, "catboost", "xgboost", "histgradient", "logistic")
TITLES = {
    "gam": "OnePassGAM", "high": "effort=\"high\"", "lightgbm": "LightGBM", EARLY: "LightGBM, early stop",
    "catboost": "CatBoost", "xgboost": "XGBoost", "histgradient": "HistGradientBoosting",
    "logistic": "logistic regression",
}  # fmt: skip
# Differences of the AUC beyond which one is ahead.
LEVEL = 0.001
# The trials of a method on a set, by their seed.
Trials: TypeAlias = Mapping[int, Trial]


def read_trials(store: Store, rows: int, threads: int) -> dict[str, dict[str, dict[int, Trial]]]:
    """Return the trials by set, method and seed, with the better setting of early stopping as a method of its own."""
    found: dict[str, dict[str, dict[int, Trial]]] = defaultdict(lambda: defaultdict(dict))
    for key, trial in store.known.items():
        name, method, seed, of_rows, of_threads = key.split()
        if (int(of_rows), int(of_threads)) == (rows, threads):
            found[name][method][int(seed)] = trial
    for methods in found.values():
        settings = [methods[setting] for setting in EARLY_SETTINGS if setting in methods]
        if len(settings) == len(EARLY_SETTINGS):
            common = set.intersection(*(set(trials) for trials in settings))
            best = max(settings, key=lambda trials: float(np.mean([trials[seed].auc for seed in common])))
            methods[EARLY] = {seed: best[seed] for seed in common}
    return found


def difference(one: Trials, other: Trials) -> float | None:
    """Return the mean AUC of one method less that of another over the splits that both have; None if there is none.

    Examples
    --------
    >>> from experiments.tables import Trial
    >>> from experiments.tables_report import difference
    >>> trial = lambda auc: Trial(auc, 1.0, 1.0, 1.0, 0.5, 0.0, 1.0)
    >>> round(difference({0: trial(0.75), 1: trial(0.9)}, {0: trial(0.5)}), 2)
    0.25
    """
    common = sorted(set(one) & set(other))
    return float(np.mean([one[seed].auc - other[seed].auc for seed in common])) if common else None


def _mean(trials: Trials, field: str) -> float:
    return float(np.mean([getattr(trial, field) for trial in trials.values()]))


def _cell(trials: Trials, n_splits: int) -> str:
    if not trials:
        return "—"
    few = f"; {len(trials)} of {n_splits} splits" if len(trials) < n_splits else ""
    return f"{without_zero(_mean(trials, 'auc'))} ({seconds(_mean(trials, 'fit'))}{few})"


def without_zero(number: float) -> str:
    """Return a share with four digits and no zero before the point."""
    return f"{number:.4f}".removeprefix("0")


def seconds(number: float) -> str:
    """Return seconds with two digits or more."""
    return f"{number:.0f}" if number >= 9.5 else f"{number:.1f}" if number >= 0.95 else f"{number:.2f}"


def signed(number: float | None) -> str:
    """Return a difference with its sign and four digits."""
    if number is None:
        return "—"
    return f"{'−' if number < 0.0 else '+'}{without_zero(abs(number))}"


def print_ranking(found: Mapping[str, Mapping[str, Trials]], names: Sequence[str]) -> None:
    """Print AUC and CPU seconds of every method."""
    shown = ("gam", *(peer for peer in PEERS if any(peer in found[name] for name in names)))
    print(_line(["set", *(TITLES[method] for method in shown)]))
    print(_line(["---"] * (1 + len(shown))))
    for name in names:
        methods = found[name]
        print(_line([name, *(_cell(methods.get(method, {}), len(methods["gam"])) for method in shown)]))


def print_differences(found: Mapping[str, Mapping[str, Trials]], names: Sequence[str]) -> None:
    """Print for each peer on how many sets OnePassGAM is ahead, the mean difference, and where it is behind."""
    for peer in PEERS:
        all_less = {name: difference(found[name]["gam"], found[name].get(peer, {})) for name in names}
        less = {name: value for name, value in all_less.items() if value is not None}
        if not less:
            continue
        values = np.array(list(less.values()))
        behind = sorted((value, name) for name, value in less.items() if value < -LEVEL)
        ratios = {name: _mean(found[name]["gam"], "fit") / _mean(found[name][peer], "fit") for name in less}
        print(
            f"{TITLES[peer]}: {values.size} sets, mean {signed(float(values.mean()))}, "
            f"{np.count_nonzero(values > LEVEL)} / {np.count_nonzero(np.abs(values) <= LEVEL)} / {len(behind)}; "
            f"CPU ratio median {np.median(list(ratios.values())):.2f}; "
            f"behind: {', '.join(f'{name} ({signed(value)})' for value, name in behind) or 'none'}"
        )
        print("  CPU: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))


def print_calibration(found: Mapping[str, Mapping[str, Trials]], names: Sequence[str]) -> None:
    """Print log loss, calibration error, and predicted over observed positives."""
    methods = ("gam", EARLY, "catboost")
    print(_line(["set", *(TITLES[method] for method in methods)]))
    for name in names:
        cells = []
        for method in methods:
            trials = found[name].get(method, {})
            parts = (
                [_mean(trials, field) for field in ("log_loss", "calibration_error", "rate_ratio")] if trials else []
            )
            cells.append(f"{without_zero(parts[0])}, {without_zero(parts[1])}, {parts[2]:.3f}" if parts else "—")
        print(_line([name, *cells]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    found = read_trials(Store(given.store), given.rows, given.threads)
    names = [name for name in [*available(), *raw_available()] if "gam" in found[name]]
    print_ranking(found, names)
    print_differences(found, names)
    print_calibration(found, names)


if __name__ == "__main__":
    main()
