"""How well a saved model ranks the rows of files, in memory that does not grow with them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from opauc.additive.model_file import AdditiveModel
from opauc.cli.console import Reporter
from opauc.cli.noted_rows import NotedRows
from opauc.cli.scored_stream import ScoredStream
from opauc.cli.shown_penalty import penalty_choice
from opauc.cli.shown_terms import additive_part, effects_of
from opauc.cli.shown_weights import ShownWeights, shown_weights
from opauc.cli.stopwatch import stopwatch
from opauc.core.atomic_write import atomic_write
from opauc.core.labels import shown_label
from opauc.core.scorer import Scorer
from opauc.errors import InputError
from opauc.linear.fit import Solved
from opauc.linear.model_file import Model
from opauc.metrics import CalibrationBins, ProgressPoint, Ranking, StreamingAuc
from opauc.report import Report, render_report
from opauc.training.model_files import AnyModel
from opauc.types import Array, Settings

# Up to so many rows scores are kept and ranked exactly; after that only the streaming AUC goes on.
EXACT_ROWS = 10**6


class Evaluation(NamedTuple):
    """What was found."""

    ranking: Ranking
    calibration: CalibrationBins
    rows: int
    bad_rows: int
    seconds: float
    noted: NotedRows = NotedRows()


def evaluate(scored: ScoredStream, reporter: Reporter, scorer: Scorer | None = None) -> Evaluation:
    """Score all rows, by the model's own scorer unless one does its work elsewhere, and rank them."""
    labels, scorer = scored.labels, scorer or scored.model.scorer
    stream, bins, rows, noted = StreamingAuc.empty(), CalibrationBins.empty(), 0, NotedRows()
    kept: list[tuple[Array, Array]] | None = []
    with stopwatch(reporter.compiling) as seconds:
        with reporter.progress("scoring", scored.stream.total_bytes) as show:
            for part in scored.scored(scorer):
                actual = labels.encoded(part.chunk)
                stream = stream.update(actual, part.scores)
                bins = bins.update(actual, scorer.probabilities(part.scores))
                if isinstance(part.rows, np.ndarray):
                    noted = noted.after(part.rows, actual, part.scores, rows)
                rows += actual.size
                if kept is not None:
                    kept.append((actual, part.scores))
                    kept = kept if rows <= EXACT_ROWS else None
                show(rows, part.chunk.bytes_read, stream.estimate())
        scored.report_unknown(reporter)
        refuse_one_class(scored, *stream.counts.tolist())
        if kept:
            actual, scores = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            ranking = Ranking.of(actual, scores)
        else:
            ranking = Ranking.of_stream(stream)
        return Evaluation(ranking, bins, rows, scored.stream.bad_rows.total, seconds(), noted)


def refuse_one_class(scored: ScoredStream, negatives: int, positives: int) -> None:
    """Say that there is no AUC where there are no pairs of a positive and a negative row."""
    if negatives and positives:
        return
    rows, sources = negatives + positives, ", ".join(scored.stream.sources)
    if not rows:
        raise InputError(f"{sources}: there are no rows; AUC needs rows of both classes")
    only = shown_label(scored.model.classes[int(positives > 0)])
    raise InputError(f"{sources}: AUC needs rows of both classes, got {rows:,} rows, all labeled {only}")


def write_report(path: Path, name: str, scored: ScoredStream, found: Evaluation) -> None:
    """Write the report page."""
    page = render_report(report_of(name, scored, found))
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def report_of(name: str, scored: ScoredStream, found: Evaluation) -> Report:
    """Return all that the page shows."""
    model = scored.model
    curve = [ProgressPoint(*point) for point in model.provenance.get("learning_curve", ())]
    weights, penalty, chosen = ShownWeights([], ""), None, dict[str, float]()
    if isinstance(model, Model):
        weights, penalty = shown_weights(model), penalty_choice(model)
        chosen = {} if isinstance(model.solution, Solved) else model.solution.chosen_settings
    additive = None
    if isinstance(model, AdditiveModel):
        effects = effects_of(model)
        additive = additive_part(effects, list(found.noted.explained(effects)))
    settings = {**model.parameters, **{f"{name} chosen": value for name, value in chosen.items()}}
    return Report(
        title=f"{name} on {', '.join(Path(source).name for source in scored.stream.sources[:3])}",
        ranking=found.ranking,
        model=_in_words(model.estimator, model.solution.published),
        n_features=model.n_features,
        calibration=found.calibration,
        learning_curve=curve,
        penalty=penalty,
        additive=additive,
        weights=weights.rows,
        weight_order=weights.order,
        data={
            "Sources": ", ".join(scored.stream.sources),
            "Rows": found.rows,
            "Rows skipped": found.bad_rows,
            "Negative class": shown_label(model.classes[0]),
            "Positive class": shown_label(model.classes[1]),
        },
        settings=settings,
        timings={"Reading and scoring": found.seconds},
        provenance=learned_from(model),
    )


def _in_words(estimator: str, chosen: Settings) -> str:
    """Return what learned, with the solver and rank where it chose them."""
    solver = f", solver {chosen['solver_']}" if "solver_" in chosen else ""
    rank = f", rank {chosen['rank_']}" if chosen.get("rank_") else ""
    return f"{estimator}{solver}{rank}"


def learned_from(model: AnyModel) -> dict[str, object]:
    """Return where the rows of the model came from, as rows of a table."""
    known = model.provenance
    table: dict[str, object] = {"Library": f"opauc {known['library']}"} if "library" in known else {}
    if "rows" in known:
        table["Rows learned"] = known["rows"]
    for record in known.get("inputs", ()):
        table[record["path"]] = f"{record['rows']:,} rows, {record['bytes']:,} bytes, sha256 {record['sha256'][:16]}…"
    return table
