"""What `opauc train` shows of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opauc.additive.drift import find_drift
from opauc.additive.leaks import find_leaks
from opauc.additive.state import AdditiveFit
from opauc.api.cube.training import CubeTraining
from opauc.api.describe import input_names
from opauc.api.scored_stream import report_unreadable
from opauc.api.train import Training
from opauc.cli.console import Reporter, emit, number_of, show_table
from opauc.core.labels import listed_labels, shown_label
from opauc.core.model import Model
from opauc.data.schema.infer import ColumnProfile
from opauc.linear.exact_cv import Selection
from opauc.linear.fit import LinearFit
from opauc.linear.moments.within_groups import WithinGroupMoments
from opauc.types import Json

# Of more than two classes, those of at most so many rows are reported, this many by name: labels may be misspelled.
RARE_CLASS_ROWS, LISTED_CLASSES = 3, 5


def show_columns(profiles: Sequence[ColumnProfile], reporter: Reporter) -> None:
    """Show the inferred type of each column."""
    if reporter.as_json:
        for one in profiles:
            emit("column", name=one.name, kind=one.kind, used=one.column is not None, seen=one.summary)
        return
    how = {True: "", False: "dropped, "}
    show_table("columns", {one.name: f"{how[one.column is not None]}{one.kind}: {one.summary}" for one in profiles})


def report_training(result: Training, output: Path, reporter: Reporter) -> None:
    """Report the trained model, after warnings."""
    model = result.model
    assert model is not None, "the run was not stopped"
    reporter.skipped(result.bad_rows, result.first_bad)
    text, facts = DESCRIBERS[model.fit.family](model, model.fit, reporter)
    _warn_of_rare_classes(model, reporter)
    reporter.say(
        "trained",
        f"{output}: {result.rows:,} rows ({described_classes(model)}), {text}, {result.seconds:.1f} s"
        f"{_ranked(result)}",
        model=str(output), features=model.n_features, **facts, seconds=round(result.seconds, 3),
        checkpoint_seconds=round(result.checkpoint_seconds, 3), rows=result.rows, shards=result.shards,
        skipped=result.bad_rows, progressive_auc=result.auc and result.auc.auc,
        progressive_auc_limits=result.auc and result.auc[1:3],
    )  # fmt: skip


def _warn_of_rare_classes(model: Model, reporter: Reporter) -> None:
    """Warn of classes, of more than two, that have hardly any rows: a label may be misspelled."""
    counts = zip(model.classes.tolist(), model.fit.counts, strict=True) if model.several_classes else ()
    rare = [
        f"{shown_label(label)} ({number_of(int(count), 'row')})" for label, count in counts if count <= RARE_CLASS_ROWS
    ]
    if rare:
        more = f" and {len(rare) - LISTED_CLASSES} more" if len(rare) > LISTED_CLASSES else ""
        reporter.warn(
            f"classes of hardly any rows: {', '.join(rare[:LISTED_CLASSES])}{more}; if a label is misspelled, or the "
            "column is not the label, correct that, or name the positive label (--positive)"
        )


def described_classes(model: Model) -> str:
    """Return which class is positive, or the classes if there are more than two."""
    if not model.several_classes:
        return f"positive: {shown_label(model.classes[1])}"
    return f"{model.classes.size} classes: {listed_labels(model.classes.tolist())}"


def report_cube(result: CubeTraining, reporter: Reporter) -> None:
    """Report the trained cube, after warnings."""
    report_unreadable(result.unreadable or {}, reporter)
    reporter.skipped(result.bad_rows, result.first_bad)
    size = sum(path.stat().st_size for path in result.folder.rglob("*") if path.is_file())
    reporter.say(
        "trained",
        f"{result.folder}: {result.rows:,} rows, a cube of {number_of(result.n_segments, 'segment')}, "
        f"{size / 2**20:,.1f} MiB, {result.seconds:.1f} s; opauc merge {result.folder}/... -o MODEL gives the model of "
        "a slice",
        cube=str(result.folder), rows=result.rows, segments=result.n_segments, bytes=size,
        seconds=round(result.seconds, 3), skipped=result.bad_rows,
    )  # fmt: skip


def _ranked(result: Training) -> str:
    """Return how well rows were ranked before they were trained on, or why that is not known, to end a line."""
    if result.shards is not None:
        return f", trained in {number_of(result.shards, 'shard')}: opauc evaluate says how well it ranks rows"
    if result.auc is None:
        return "; opauc evaluate says how well it ranks other rows"
    return f", progressive AUC {result.auc.auc:.4f} (95 %: {result.auc.low:.4f} to {result.auc.high:.4f})"


def _describe_additive(model: Model, fit: AdditiveFit, reporter: Reporter) -> tuple[str, Json]:
    names = input_names(model)
    for warning in (*find_leaks(fit, names), *find_drift(fit, names)):
        reporter.warn(str(warning))
    basis, selections = fit.current.basis, {one.final.selection.model for one in fit.class_fits}
    for j in basis.coded_inputs():
        count = basis.random_effects.numbers_of(j).size
        reporter.say(
            "code",
            f"column {names[j]}: its numbers act as codes; each of {count:,} has a weight of its own",
            column=names[j], values=count,
        )  # fmt: skip
    ensembles = [one.current.basis.trees for one in fit.class_fits]
    pairs, trees = len(basis.tables.pairs), sum(one.n_trees for one in ensembles if one is not None)
    parts = [number_of(sum(len(inputs) == 1 for inputs in basis.effects), "feature"), number_of(pairs, "pair")]
    parts += [number_of(trees, "tree")] if trees else []
    parts += [number_of(len(basis.crossed.codes), "crossed code")] if basis.crossed.codes else []
    selection = selections.pop() if len(selections) == 1 else "by class"
    candidate = (
        "" if selection in ("full", "by class") else f" (candidate model '{selection}', which ranked later rows best)"
    )
    text = (
        f"{number_of(model.n_features, 'column')}, additive model of {', '.join(parts[:-1])} and {parts[-1]}{candidate}"
    )
    groups = fit.group_counts
    if groups is not None:
        text += f", {groups.ranked:,} groups of both classes ({groups.one_class:,} of one class have no pairs)"
        if groups.unused_rows:
            reporter.warn(
                f"{number_of(int(groups.unused_rows), 'row')} of groups of which the initial sample has fewer than two "
                "rows, or that are too many, were not used; a larger --init-size has more groups"
            )
    return text, {
        "solver": "gam", "rank": None, "model_columns": basis.n_columns, "pairs": pairs, "trees": trees,
        "selection": selection, "chosen": {}, **({} if groups is None else {"groups": groups._asdict()}),
    }  # fmt: skip


def _describe_linear(model: Model, fit: LinearFit, reporter: Reporter) -> tuple[str, Json]:
    solver, rank = fit.attributes.get("solver_", "exact"), fit.attributes.get("rank_")
    chosen = fit.chosen_settings
    report_penalty(fit.selection, reporter)
    settings = "".join(f", {name} {value:.3g}" for name, value in chosen.items()) if fit.selection is None else ""
    text = f"{model.n_features:,} features, {solver}{f' of rank {rank}' if rank else ''}{settings}"
    if not isinstance(fit.state, WithinGroupMoments):
        return text, {"solver": solver, "rank": rank, "chosen": chosen}
    groups = fit.state.group_counts
    text += f", {groups.ranked:,} groups of both classes ({groups.one_class:,} of one class have no pairs)"
    return text, {"solver": solver, "rank": rank, "chosen": chosen, "groups": groups._asdict()}


# By family: they take a model and its fit, which is of that family.
DESCRIBERS: dict[str, Callable[[Model, Any, Reporter], tuple[str, Json]]] = {
    "additive": _describe_additive, "additive_multiclass": _describe_additive, "linear": _describe_linear
}  # fmt: skip


# Of criteria of a penalty: what they are called, and the sign of what is reported.
CRITERIA = {"pair_loss": ("pair loss", -1.0), "log_loss": ("log loss", -1.0), "auc": ("AUC", 1.0)}


def report_penalty(selection: Selection | None, reporter: Reporter) -> None:
    """Report the chosen penalty, with alpha=`auto`."""
    if selection is None:
        return
    if not selection.n_folds:
        reporter.warn(
            f"alpha {selection.alpha:.3g} was not chosen, it is the middle of the grid: no fold has rows of both "
            "classes in it and outside it; give more rows, fewer --cv, or more --groups"
        )
        return
    score = selection.means()[selection.chosen]
    name, sign = CRITERIA[selection.criterion]
    score *= sign
    reporter.say(
        "chosen",
        f"chose alpha {selection.alpha:.3g} of {selection.alphas.size} between {selection.alphas.min():.2g} and "
        f"{selection.alphas.max():.2g}: {name} {score:.4f} on {selection.n_folds} folds held out",
        alpha=selection.alpha, criterion=selection.criterion, score=float(score), folds=selection.n_folds,
        alphas=selection.alphas.tolist(),
    )  # fmt: skip
