"""What `opauc train` tells of what it made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from opauc.additive.basis.leaves import Leaves
from opauc.additive.model_file import AdditiveModel
from opauc.additive.shifts import find_drift
from opauc.cli.console import Reporter, emit, number_of, show_table
from opauc.core.labels import shown_label
from opauc.data import DataStream
from opauc.data.columns import quoted_list
from opauc.data.schema.infer import ColumnProfile
from opauc.linear.exact_cv import Selection
from opauc.linear.model_file import Model
from opauc.metrics.intervals import AucInterval
from opauc.training.loop import StreamTraining
from opauc.training.model_files import AnyModel

# So many categories of one column are said: it may be a name, or the number of a row.
MANY_CATEGORIES = 300
PLURALS = {"category": "categories"}


class LearntRows(NamedTuple):
    """How many rows were learned and how many left out, the first of these, and the progressive AUC of rows in order.

    Rows that were learned in shards have none.
    """

    rows: int
    bad_rows: int
    first_bad: Sequence[str]
    auc: AucInterval | None = None
    shards: int | None = None

    @classmethod
    def of(cls, training: StreamTraining) -> Self:
        """Return what a training in order tells."""
        known = training.resume_position
        return cls(training.rows, known.bad_rows, known.first_bad, training.progress.ranked())

    def ranked(self) -> str:
        """Return how well rows were ranked before they were learned, or why that is not known, to end a line."""
        if self.shards is not None:
            return f", learned in {number_of(self.shards, 'shard')}: opauc evaluate says how well it ranks rows"
        if self.auc is None:
            return ""
        return f", progressive AUC {self.auc.auc:.4f} (95 %: {self.auc.low:.4f} to {self.auc.high:.4f})"


def report_columns(column_profiles: Sequence[ColumnProfile], explain: bool, reporter: Reporter) -> None:
    """Tell in one line what was made of the columns of each kind, or in a table what was made of each."""
    if not column_profiles:
        return
    used = Counter(found.kind for found in column_profiles if found.column is not None)
    left = [found for found in column_profiles if found.column is None]
    said = ", ".join(f"{count} {PLURALS.get(kind, kind + 's') if count > 1 else kind}" for kind, count in used.items())
    out = "; left out: " + ", ".join(f"{found.name} ({found.kind})" for found in left) if left else ""
    reporter.say(
        "columns", f"columns: {said}{out}", used=dict(used), left_out={found.name: found.kind for found in left}
    )
    if not explain:
        return
    if reporter.as_json:
        for found in column_profiles:
            emit("column", name=found.name, kind=found.kind, used=found.column is not None, seen=found.summary)
        return
    how = {True: "", False: "left out, "}
    show_table(
        "columns",
        {found.name: f"{how[found.column is not None]}{found.kind}: {found.summary}" for found in column_profiles},
    )


def report_many_categories(stream: DataStream, told: set[str], reporter: Reporter) -> set[str]:
    """Tell of columns, but those told of, that have so many categories that they may be names or numbers of rows."""
    many = {name: count for name, count in stream.category_counts.items() if count > MANY_CATEGORIES}
    for name in [name for name in many if name not in told]:
        flag = quoted_list([name])
        reporter.say(
            "many_categories",
            f"column {name}: {many[name]:,} categories so far, a feature each; --hash-bits spreads them over fewer, "
            f"--drop {flag} leaves the column out",
            column=name, categories=many[name],
        )  # fmt: skip
    return set(many)


def report_unreadable(values: Mapping[str, int], reporter: Reporter) -> None:
    """Tell how many values of columns of numbers and dates were something else and count as missing."""
    for name, count in values.items():
        reporter.say(
            "unreadable",
            f"column {name}: {number_of(count, 'value')} could not be read as what the others are; taken as missing",
            column=name, values=count,
        )  # fmt: skip


def report_additive(
    model: AdditiveModel, learned: LearntRows, output: Path, reporter: Reporter, times: tuple[float, float]
) -> None:
    """Tell what an additive model learned, after what may be wrong with it."""
    reporter.skipped(learned.bad_rows, learned.first_bad)
    solution, (seconds, checkpoint_seconds) = model.solution, times
    for shift in find_drift(solution, model.inputs):
        reporter.warn(str(shift))
    basis, selection = solution.current.basis, solution.final.selection
    for j in basis.coded_inputs():
        name, count = model.inputs[j], basis.finer.numbers_of(j).size
        reporter.say(
            "code",
            f"column {name}: its numbers act as codes; each of {count:,} has a weight of its own",
            column=name, values=count,
        )  # fmt: skip
    pairs, trees = len(basis.tables.pairs), basis.together.n_entries if isinstance(basis.together, Leaves) else 0
    parts = [number_of(sum(len(inputs) == 1 for inputs in basis.effects), "feature"), number_of(pairs, "pair")]
    parts += [number_of(trees, "tree")] if trees else []
    rung = "" if selection.rung == "full" else f" (of these the rung '{selection.rung}', which ranked later rows best)"
    reporter.say(
        "trained",
        f"{output}: {learned.rows:,} rows (positive: {shown_label(model.classes[1])}), "
        f"{number_of(model.n_features, 'column')}, additive model of "
        f"{', '.join(parts[:-1])} and {parts[-1]}{rung}, {seconds:.1f} s{learned.ranked()}",
        model=str(output), features=model.n_features, solver="gam", rank=None,
        model_columns=basis.n_columns, pairs=pairs, trees=trees, guard=selection.rung, seconds=round(seconds, 3),
        checkpoint_seconds=round(checkpoint_seconds, 3), chosen={},
        rows=learned.rows, shards=learned.shards, skipped=learned.bad_rows,
        progressive_auc=learned.auc and learned.auc.auc, progressive_auc_limits=learned.auc and learned.auc[1:3],
    )  # fmt: skip


def report_model(
    model: AnyModel, learned: LearntRows, output: Path, reporter: Reporter, times: tuple[float, float]
) -> None:
    """Tell what was learned, after what may be wrong with it."""
    if isinstance(model, AdditiveModel):
        report_additive(model, learned, output, reporter, times)
    else:
        report_trained(model, learned, output, reporter, times)


def report_trained(
    model: Model, learned: LearntRows, output: Path, reporter: Reporter, times: tuple[float, float]
) -> None:
    """Tell what was learned, after what had to be left out."""
    reporter.skipped(learned.bad_rows, learned.first_bad)
    seconds, checkpoint_seconds = times
    solution = model.learned()
    solver, rank = (solution.published.get(name, usual) for name, usual in (("solver_", "exact"), ("rank_", None)))
    chosen = solution.chosen_settings
    told = "".join(f", {name} {value:.3g}" for name, value in chosen.items()) if solution.selection is None else ""
    report_penalty(solution.selection, reporter)
    reporter.say(
        "trained",
        f"{output}: {learned.rows:,} rows (positive: {shown_label(model.classes[1])}), "
        f"{model.n_features:,} features, {solver}"
        f"{f' of rank {rank}' if rank else ''}, {seconds:.1f} s{told}{learned.ranked()}",
        model=str(output), features=model.n_features, solver=solver, rank=rank,
        seconds=round(seconds, 3), checkpoint_seconds=round(checkpoint_seconds, 3), chosen=chosen,
        rows=learned.rows, shards=learned.shards, skipped=learned.bad_rows,
        progressive_auc=learned.auc and learned.auc.auc, progressive_auc_limits=learned.auc and learned.auc[1:3],
    )  # fmt: skip


def report_penalty(found: Selection | None, reporter: Reporter) -> None:
    """Tell which penalty was chosen, if one was to be."""
    if found is None:
        return
    if not found.n_folds:
        reporter.warn(
            f"alpha {found.alpha:.3g} was not chosen but taken from the middle: no fold has rows of both classes in it "
            "and outside it; give more rows, fewer --cv, or more --groups"
        )
        return
    score = found.means()[found.chosen]
    name, score = ("pair loss", -score) if found.criterion == "pair_loss" else ("AUC", score)
    reporter.say(
        "chosen",
        f"chose alpha {found.alpha:.3g} of {found.alphas.size} between {found.alphas.min():.2g} and "
        f"{found.alphas.max():.2g}: {name} {score:.4f} on {found.n_folds} folds held out",
        alpha=found.alpha, criterion=found.criterion, score=float(score), folds=found.n_folds,
        alphas=found.alphas.tolist(),
    )  # fmt: skip
