"""How well a saved model ranks the rows of files, in memory that does not grow with them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.cli.console import Reporter
from opauc.cli.predict import probabilities
from opauc.cli.scored_stream import ScoredStream
from opauc.evaluation import CalibrationBins, ProgressPoint, Ranking, StreamingAuc
from opauc.files import atomic_write
from opauc.report import Report, render_report
from opauc.training.model_file import SavedModel
from opauc.training.stream_labels import shown_label

# Up to so many rows scores are kept and ranked exactly; after that only the streaming AUC goes on.
EXACT_ROWS = 10**6
SHOWN_WEIGHTS = 20


class Evaluation(NamedTuple):
    """What was found."""

    ranking: Ranking
    calibration: CalibrationBins
    rows: int
    bad_rows: int
    seconds: float


def evaluate(scored: ScoredStream, reporter: Reporter) -> Evaluation:
    """Score all rows and rank them."""
    began, labels, scorer = time.perf_counter(), scored.labels, scored.model.solution_.scorer
    stream, bins, rows = StreamingAuc.empty(), CalibrationBins.empty(), 0
    kept: list[tuple[NDArray[Any], NDArray[Any]]] | None = []
    with reporter.progress("scoring", scored.stream.total_bytes) as show:
        for part in scored.scored():
            codes = labels.codes(part.chunk)
            stream = stream.update(codes, part.scores)
            bins = bins.update(codes, probabilities(scorer, part.scores))
            rows += codes.size
            if kept is not None:
                kept.append((codes, part.scores))
                kept = kept if rows <= EXACT_ROWS else None
            show(rows, part.chunk.bytes_read, stream.estimate())
    if kept:
        codes, scores = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        ranking = Ranking.of(codes, scores)
    else:
        ranking = Ranking.of_stream(stream)
    return Evaluation(ranking, bins, rows, scored.stream.bad_rows.total, time.perf_counter() - began)


def write_report(path: Path, name: str, scored: ScoredStream, found: Evaluation) -> None:
    """Write the report page."""
    page = render_report(report_of(name, scored, found))
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def report_of(name: str, scored: ScoredStream, found: Evaluation) -> Report:
    """Return all that the page shows."""
    saved, model = scored.saved, scored.model
    provenance = dict(saved.provenance)
    curve = [ProgressPoint(*point) for point in provenance.get("learning_curve", ())]
    rank = f", rank {model.rank_}" if getattr(model, "rank_", None) else ""
    return Report(
        title=f"{name} on {', '.join(Path(source).name for source in scored.stream.sources[:3])}",
        ranking=found.ranking,
        model=f"{type(model).__name__}, solver {getattr(model, 'solver_', '')}{rank}",
        n_features=model.n_features_in_,
        calibration=found.calibration,
        learning_curve=curve,
        weights=named_weights(saved),
        data={
            "Sources": ", ".join(scored.stream.sources),
            "Rows": found.rows,
            "Rows skipped": found.bad_rows,
            "Negative class": shown_label(model.classes_[0]),
            "Positive class": shown_label(model.classes_[1]),
        },
        settings=model.get_params(),
        timings={"Reading and scoring": found.seconds},
        provenance=learnt_from(saved),
    )


def learnt_from(saved: SavedModel) -> dict[str, object]:
    """Return where the rows of the model came from, as rows of a table."""
    known = saved.provenance
    table: dict[str, object] = {"Library": f"opauc {known['library']}"} if "library" in known else {}
    if "rows" in known:
        table["Rows learnt"] = known["rows"]
    for record in known.get("inputs", ()):
        table[record["path"]] = f"{record['rows']:,} rows, {record['bytes']:,} bytes, sha256 {record['sha256'][:16]}…"
    return table


def named_weights(saved: SavedModel) -> list[tuple[str, float]]:
    """Return the largest weights with the names of their features, or their numbers as LIBSVM counts."""
    weights = saved.model.solution_.scorer.weights
    largest = np.argsort(-np.abs(weights), kind="stable")[:SHOWN_WEIGHTS]
    names = getattr(saved.model, "feature_names_in_", None)
    first = 0 if saved.reading and saved.reading["options"]["zero_based"] else 1
    return [
        (f"feature {j + first}" if names is None else str(names[j]), float(weights[j])) for j in largest if weights[j]
    ]
