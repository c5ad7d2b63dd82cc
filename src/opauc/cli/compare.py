"""`opauc compare`: every learner on the same rows, and on the same rows left out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit
from opauc.cli.scored_stream import as_wide
from opauc.errors import InputError, OpaucError
from opauc.evaluation import StreamingAuc, auc_interval, compare_aucs
from opauc.learners import find_learners
from opauc.learners.state_arrays import grown, state_arrays
from opauc.reading.byte_source import STANDARD_INPUT
from opauc.reading.data_stream import DataStream
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.scorers import LinearScorer
from opauc.training.stream_labels import StreamLabels

# A learner whose state would be larger sits this one out.
LARGEST_STATE = 2 * 2**30
# Up to so many rows left out, the differences between learners are tested too.
EXACT_ROWS = 10**6


@dataclass
class Contestant:
    """A learner on its way through the data."""

    name: str
    learner: Any
    state: Any = None
    width: int = 0
    seconds: float = 0.0
    trouble: str = ""
    scorer: LinearScorer | None = None

    def learn(self, rows: Any, codes: Any) -> None:
        """Learn rows; whoever cannot sits out from then on."""
        if self.trouble:
            return
        try:
            if self.state is None:
                self._warm_up(rows)
            began = time.perf_counter()
            self._widen(rows.shape[1])
            self.state = self.learner.step(self.state, rows, codes)
            self.seconds += time.perf_counter() - began
        except OpaucError as error:
            self.trouble = str(error)

    def finish(self) -> None:
        """Work out the weights."""
        if not self.trouble:
            began = time.perf_counter()
            weights = self.learner.weights(self.state)
            self.scorer = LinearScorer(weights, 0.0, 0.0, 0.0)
            self.seconds += time.perf_counter() - began

    def _warm_up(self, rows: Any) -> None:
        """Learn two rows of the same kind and forget them: compiling is not to be timed."""
        narrow = rows[[0, 0], :1]
        self.learner.weights(self.learner.step(self.learner.start(1), narrow, np.array([0, 1], np.int8)))

    def _widen(self, width: int) -> None:
        if width > self.width:
            if (size := _bytes_of_state(self.learner, width)) > LARGEST_STATE:
                raise InputError(f"would take {size / 2**30:.1f} GiB for {width:,} features")
            fresh = self.state is None
            self.state = self.learner.start(width) if fresh else grown(self.learner, self.state, width)
            self.width = width


def command(
    data: shared.Data,
    held_out: Annotated[float, typer.Option(help="Share of the rows that are left out to be scored.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Of the choice of rows.", min=0)] = 0,
    learners: Annotated[str | None, typer.Option(help="Names with commas between; else all.")] = None,
    positive: Annotated[str | None, typer.Option(help="Label of the positive rows; all others are negative.")] = None,
    format_: shared.Format = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    missing: shared.Missing = "error",
    hash_bits: shared.HashBits = None,
    n_features: shared.NFeatures = None,
    zero_based: shared.ZeroBased = False,
    delimiter: shared.Delimiter = None,
    header: shared.Header = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train every learner with its default settings on the same rows and rank the same others.

    The data is read twice: once to learn, once to score the rows left out.
    """
    if STANDARD_INPUT in data:
        raise InputError("comparing reads the data twice, which standard input does not allow; name a file")
    if not 0.0 < held_out < 1.0:
        raise InputError(f"--held-out must lie between 0 and 1, got {held_out}")
    reading = shared.reading_options(
        format_, label, features, categorical, missing, hash_bits, n_features, zero_based, delimiter, header
    )
    contestants = _contestants(learners)
    labels, reporter = StreamLabels(positive=positive), Reporter(json, quiet)

    def stream(encoding: Any = None) -> DataStream:
        bad = shared.bad_rows(on_bad_row, max_bad_rows)
        return DataStream(data, reading, bad_rows=bad, encoding=encoding)

    encoding = _learn(stream(), contestants, labels, held_out, seed, reporter)
    codes, scores, streams = _score(stream(encoding), contestants, labels, held_out, seed, reporter)
    _show(contestants, codes, scores, streams, json)
    return 0


def chosen(first_row: int, n_rows: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Tell which rows are left out: a function of their numbers and the seed alone."""
    numbers = np.arange(first_row, first_row + n_rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(2**40)
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers / 2.0**64 < share


def _contestants(names: str | None) -> list[Contestant]:
    known = find_learners()
    wanted = list(known) if names is None else [name.strip() for name in names.split(",")]
    strangers = [name for name in wanted if name not in known]
    if strangers:
        raise InputError(f"no learner is called {strangers[0]!r}; there are {', '.join(known)}")
    return [Contestant(name, known[name]()) for name in wanted]


def _learn(
    stream: DataStream, contestants: list[Contestant], labels: StreamLabels, share: float, seed: int, reporter: Reporter
) -> Any:
    waiting: list[LabelledChunk] = []
    width, rows, encoding = 1, 0, None
    with reporter.progress("learning", stream.total_bytes) as show:
        for chunk in stream.chunks():
            waiting.append(chunk)
            if chunk.labels is not None and not labels.look_at(chunk.labels):
                continue
            for each in waiting:
                codes, width = labels.codes(each), max(width, each.rows.shape[1])
                kept = ~chosen(each.first_row, codes.size, share, seed)
                for contestant in contestants:
                    contestant.learn(as_wide(each, width)[kept], codes[kept])
                rows, encoding = rows + int(kept.sum()), each.bookmark.learnt()
            waiting.clear()
            show(rows, chunk.bytes_read)
    if not labels.known:
        raise InputError("comparing needs rows of two classes")
    for contestant in contestants:
        contestant.finish()
    return encoding


def _score(
    stream: DataStream, contestants: list[Contestant], labels: StreamLabels, share: float, seed: int, reporter: Reporter
) -> tuple[NDArray[Any], dict[str, NDArray[Any]], dict[str, StreamingAuc]]:
    ready = [(one.name, one.width, one.scorer) for one in contestants if one.scorer is not None]
    streams = {name: StreamingAuc.empty() for name, _, _ in ready}
    kept_codes: list[NDArray[Any]] = []
    kept_scores: dict[str, list[NDArray[Any]]] = {name: [] for name, _, _ in ready}
    rows = 0
    with reporter.progress("scoring", stream.total_bytes) as show:
        for chunk in stream.chunks():
            out = chosen(chunk.first_row, chunk.rows.shape[0], share, seed)
            codes = labels.codes(chunk)[out]
            rows += codes.size
            kept_codes.append(codes)
            for name, width, scorer in ready:
                scores = scorer.scores(as_wide(chunk, width)[out])
                streams[name] = streams[name].update(codes, scores)
                kept_scores[name].append(scores)
            if rows > EXACT_ROWS:
                kept_codes.clear()
                kept_scores = {name: [] for name in kept_scores}
            show(rows, chunk.bytes_read)
    if rows > EXACT_ROWS:
        return np.empty(0), {}, streams
    return np.concatenate(kept_codes), {name: np.concatenate(parts) for name, parts in kept_scores.items()}, streams


def _show(
    contestants: list[Contestant],
    codes: NDArray[Any],
    scores: dict[str, NDArray[Any]],
    streams: dict[str, StreamingAuc],
    as_json: bool,
) -> None:
    aucs = {name: stream.estimate() for name, stream in streams.items()}
    order = sorted(contestants, key=lambda one: -aucs.get(one.name, -1.0))
    best = order[0].name
    table = Table(box=None, pad_edge=False)
    for title in ("learner", "AUC", "95 % interval", "p against the best", "seconds", ""):
        table.add_column(title, justify="left" if title in ("learner", "") else "right")
    for one in order:
        facts: dict[str, Any] = {"learner": one.name, "seconds": round(one.seconds, 3), "trouble": one.trouble}
        if one.name in aucs:
            facts["auc"] = aucs[one.name]
        if one.name in scores:
            facts["auc"], facts["low"], facts["high"] = auc_interval(codes, scores[one.name])[:3]
            if one.name != best:
                facts["p"] = compare_aucs(codes, scores[best], scores[one.name]).p_value
        if as_json:
            emit("compared", **facts)
        table.add_row(
            one.name,
            f"{facts['auc']:.4f}" if "auc" in facts else "",
            f"{facts['low']:.4f} to {facts['high']:.4f}" if "low" in facts else "",
            f"{facts['p']:.2g}" if "p" in facts else "",
            f"{one.seconds:.3g}",
            one.trouble,
        )
    if not as_json:
        Console(highlight=False).print(table)


def _bytes_of_state(learner: Any, width: int) -> float:
    """Return how large the state would be, from those of narrow ones: a polynomial of second degree in the width."""
    widths = (16, 32, 48)
    sizes = [sum(array.nbytes for array in state_arrays(learner.start(narrow)).values()) for narrow in widths]
    return float(np.polyval(np.polyfit(widths, sizes, 2), width))
