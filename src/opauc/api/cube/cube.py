"""`Cube`: the sums of each segment of the rows, by keys such as day and region, and the model of any slice of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Self, TypeAlias

from opauc.api.cube.keys import Choice, Values, choose, natural_order, values_in
from opauc.api.cube.manifest import BASIS, TOTALS, Manifest, checked_path, read_manifest, segment_path, total_path
from opauc.api.cube.segment_file import Segment, read_segment
from opauc.api.cube.studies import (
    Comparison,
    LeftOut,
    SegmentDrift,
    WindowScore,
    compare_slices,
    compare_windows,
    find_segment_drift,
    folds_of,
    leave_out,
)
from opauc.api.observer import CallbackObserver
from opauc.api.saving import estimator_of
from opauc.core.fit import Fit
from opauc.core.model import Model, load_model
from opauc.core.packed_sums import SegmentSums
from opauc.data import BadRows
from opauc.data.find_sources import paths_of
from opauc.errors import InputError, Parameter, ParameterError, UnreadableFileError
from opauc.types import Json
from opauc.version import __version__

# Which segments: choices by key, or a function of the keys and values of a segment.
Where: TypeAlias = Mapping[str, Choice] | Callable[[Mapping[str, str]], bool]
# Segments, each with a factor on the weight of its rows.
Slice: TypeAlias = Mapping[Values, float]
CACHE_BYTES = 256 * 2**20


class SegmentInfo(NamedTuple):
    """The keys of a segment, its rows, and its weight of each class.

    Attributes
    ----------
    keys : dict of str to str
        The value of each key.
    rows : int
        The number of rows.
    negative, positive : float
        The weight of the rows of each class.

    Examples
    --------
    >>> from opauc.api.cube.cube import SegmentInfo
    >>> SegmentInfo({"day": "2026-11-01"}, 10, 7.0, 3.0).positive
    3.0
    """

    keys: dict[str, str]
    rows: int
    negative: float
    positive: float


class Part(NamedTuple):
    """A file of sums: of a segment, or the totals of all segments that share one value."""

    path: PurePath
    checksum: str
    keys: tuple[str, ...]
    values: Values
    factor: float


class Cube:
    """A folder with the sums of each segment of the rows: models of any slice of them, without their rows.

    `opauc.train(..., by=["day", "country"], output="cube")` writes it, with a segment for each day in each country.
    ``opauc.Cube("cube")`` opens it. All segments have one basis, so that their sums add: the model of a slice is the
    one that its rows would have given with that basis.

    A slice is chosen by the values of the keys: ``day="2026-11-0*"``, ``country=["DE", "FR"]``, a function of the
    value, or as one argument `where`, a dict of such choices or a function of a dict of the keys and values.

    Parameters
    ----------
    path : path
        The folder of the cube.

    Attributes
    ----------
    keys : tuple of str
        Names of the keys, such as ``("day", "country")``.
    segments : list of SegmentInfo
        The values of the keys, the rows and the weight of each class, of every segment.
    basis : OnePassGAM, OPAUC or OPAUCCV
        The model of no rows with the basis of the cube.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> import opauc
    >>> random = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": random.normal(50, 10, 600), "day": np.repeat(["mon", "tue", "wed"], 200)})
    >>> table["bought"] = (table["age"] + random.normal(0, 10, 600) > 50).astype(int)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cube = opauc.train(table, "bought", by="day", trees=False, output=f"{folder}/cube")
    ...     model = cube.model(day=["mon", "tue"])
    ...     values, monday = cube.values("day"), cube.leave_one_out("day")[0]
    >>> [(segment.keys["day"], segment.rows) for segment in cube.segments]
    [('mon', 200), ('tue', 200), ('wed', 200)]
    >>> model.score(table[["age"]], table["bought"]) > 0.8
    True
    >>> values, monday.values, round(monday.auc.auc, 2)  # the model of the other days, on rows of Monday
    (['mon', 'tue', 'wed'], ('mon',), 0.87)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        self._manifest: Manifest = read_manifest(self.path)
        self._basis = load_model(checked_path(self.path, PurePath(BASIS), self._manifest.basis_checksum))
        if self._basis.fit.basis_key() != self._manifest.basis:
            raise UnreadableFileError(f"{self.path / BASIS}: is not the basis that the manifest of the cube names")
        self._read: dict[PurePath, Segment] = {}
        self._read_bytes = 0

    def __repr__(self) -> str:
        return f"Cube({os.fspath(self.path)!r})"

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the keys."""
        return self._manifest.keys

    @property
    def segments(self) -> list[SegmentInfo]:
        """The segments in the order of their keys."""
        return [
            SegmentInfo(dict(zip(self.keys, values, strict=True)), *entry[:3])
            for values, entry in self._manifest.segments.items()
        ]

    @property
    def basis(self) -> Any:
        """The model of no rows with the basis of all segments: shards and other cubes can begin with it."""
        return estimator_of(self._basis)

    def values(self, key: str, where: Where | None = None) -> list[str]:
        """Return the values of a key in their order, of all segments or of some.

        Parameters
        ----------
        key : str
            A key.
        where : mapping or callable, optional
            Choices by key, or a function of the keys and values of a segment, as a dict.

        Returns
        -------
        values : list of str
            Numbers and dates in their order, other values as text.

        Raises
        ------
        InputError
            If no segment is chosen, or there is no such key.
        """
        at = self._position(key)
        return sorted({values[at] for values in self.select(where)}, key=natural_order)

    def select(self, where: Where | None = None, **choices: Choice) -> list[Values]:
        """Return the values of the keys of the segments of a slice; raise InputError where there is none.

        Parameters
        ----------
        where : mapping or callable, optional
            Choices by key, or a function of the keys and values of a segment, as a dict.
        **choices
            For keys: a value, a pattern (`"2026-11-*"`), a list of them, or a function of the value.

        Returns
        -------
        chosen : list of tuple of str
            One tuple per segment, in the order of `keys`.

        Raises
        ------
        InputError
            If no segment is chosen, or there is no such key.
        """
        if where is not None and not callable(where):
            choices = {**where, **choices}
        is_chosen = choose(self.keys, choices)
        chosen = [values for values in self._manifest.segments if is_chosen(values)]
        if callable(where):
            chosen = [values for values in chosen if where(dict(zip(self.keys, values, strict=True)))]
        if not chosen:
            raise InputError(f"{self.path}: no segment is chosen; its keys are {self._described_keys()}")
        return chosen

    def model(
        self,
        where: Where | None = None,
        /,
        *,
        window: int | None = None,
        half_life: float | None = None,
        by: str | None = None,
        **choices: Choice,
    ) -> Any:
        """Return the fitted estimator of the rows of a slice.

        Parameters
        ----------
        where : mapping or callable, optional
            Choices by key, or a function of the keys and values of a segment, as a dict.
        window : int, optional
            Only this many of the last values of `by`.
        half_life : float, optional
            A row counts half after this many values of `by`; rows of the last value count one.
        by : str, optional
            The key whose values are in order, by default the first one.
        **choices
            For keys: a value, a pattern (`"2026-11-*"`), a list of them, or a function of the value.

        Returns
        -------
        model : OnePassGAM, OPAUC or OPAUCCV
            What training on these rows with the basis of the cube gives.

        Raises
        ------
        InputError
            If no segment is chosen, or the rows of the slice are of one class.
        ParameterError
            If `window` or `half_life` is out of range.
        """
        chosen = self.faded(self.select(where, **choices), by, window, half_life)
        model = self.model_of(chosen)
        if not model.fit.counts.all_seen:
            raise InputError(f"{self.path}: the {model.provenance['rows']:,} rows of the slice are of one class")
        return estimator_of(model)

    def update(self, data: Any, *, bad_rows: BadRows | None = None) -> Self:
        """Add the rows of files to the segments, old and new ones; all of them, or none after an error.

        Parameters
        ----------
        data : path or sequence of paths
            Files, glob patterns or folders, with the key columns.
        bad_rows : BadRows, optional
            What to do with rows that cannot be read; by default the first one is an error.

        Returns
        -------
        self : Cube
            The cube as it is now.

        Raises
        ------
        InputError
            If data cannot be read, or has no values of the keys.
        """
        from opauc.api.cube.training import update_cube  # training needs no cube

        update_cube(self.path, paths_of(data), None, bad_rows or BadRows(), CallbackObserver())
        now = type(self)(self.path)
        self.__dict__.clear()
        self.__dict__.update(now.__dict__)
        return self

    def faded(
        self, chosen: Sequence[Values], by: str | None = None, window: int | None = None, half_life: float | None = None
    ) -> Slice:
        """Return segments with the factor on the weight of their rows, by their distance from the last of `by`.

        Parameters
        ----------
        chosen : sequence of tuple of str
            Segments, as `select` gives them.
        by : str, optional
            The key whose values are in order, by default the first one.
        window : int, optional
            Only this many of the last values of `by`.
        half_life : float, optional
            A row counts half after this many values of `by`.

        Returns
        -------
        slice : mapping of tuple of str to float
            The segments of the window, each with its factor.

        Raises
        ------
        ParameterError
            If `window` or `half_life` is out of range.
        """
        if window is not None and window < 1:
            raise ParameterError(Parameter("window", window), ": expected the number of values of a key, from 1 on")
        if half_life is not None and not half_life > 0:
            raise ParameterError(Parameter("half_life", half_life), ": expected a number of values of a key above 0")
        at = self._position(by or self.keys[0])
        order = sorted({values[at] for values in chosen}, key=natural_order, reverse=True)
        ages = {value: age for age, value in enumerate(order)}
        recent = [values for values in chosen if window is None or ages[values[at]] < window]
        return {values: 1.0 if half_life is None else 0.5 ** (ages[values[at]] / half_life) for values in recent}

    def fit_of(self, chosen: Slice | Iterable[Values]) -> Fit:
        """Return the fit of the rows of segments.

        Parameters
        ----------
        chosen : mapping or iterable of tuple of str
            Segments, as `select` or `faded` gives them.

        Returns
        -------
        fit : Fit
            Their sums, and the weights that follow.

        Raises
        ------
        UnreadableFileError
            If a file is damaged or is not of this cube.
        """
        slice_ = chosen if isinstance(chosen, Mapping) else dict.fromkeys(chosen, 1.0)

        def sums() -> Iterator[tuple[SegmentSums, float]]:
            for part in self._cover(slice_):
                yield self.read(part).sums, part.factor

        try:
            return self._basis.fit.sum_segments(sums())
        except UnreadableFileError:
            raise
        except ValueError as error:
            raise UnreadableFileError(f"{self.path}: the sums of its segments cannot be used: {error}") from error

    def model_of(self, chosen: Slice | Iterable[Values]) -> Model:
        """Return the model of the rows of segments.

        Parameters
        ----------
        chosen : mapping or iterable of tuple of str
            Segments, as `select` or `faded` gives them.

        Returns
        -------
        model : Model
            Their fit with the classes and the reading of the cube.

        Raises
        ------
        UnreadableFileError
            If a file is damaged or is not of this cube.
        """
        every = list(chosen)
        n_rows = sum(self._manifest.segments[values].rows for values in every)
        provenance: Json = {"library": __version__, "rows": n_rows}
        fit = self.fit_of(chosen if isinstance(chosen, Mapping) else every)
        return replace(self._basis, fit=fit, provenance=provenance)

    @property
    def empty(self) -> Model:
        """The model of no rows."""
        return self._basis

    def count_rows(self, chosen: Iterable[Values]) -> int:
        """Return the number of rows of segments.

        Parameters
        ----------
        chosen : iterable of tuple of str
            Segments, as `select` gives them.

        Returns
        -------
        rows : int
            The number of rows.
        """
        return sum(self._manifest.segments[values].rows for values in chosen)

    def leave_one_out(
        self, by: str, where: Where | None = None, *, rows: Any = None, label: str | None = None
    ) -> list[LeftOut]:
        """Return for each value of a key the model without its rows, evaluated on them.

        The models come from sums alone. They are evaluated on the rows that the files keep, a random few of each
        class, on `rows` where these are given, or, for linear models without either, by the class moments of the
        segment as if scores were normal: `SegmentAuc.source` says which. The basis is fixed before: where it was
        fitted to rows of the segment, its knots, pairs and trees have seen them; `basis_from` an older model has not.

        Parameters
        ----------
        by : str
            The key.
        where : mapping or callable, optional
            Only these segments.
        rows : table or path, optional
            Labeled rows with the key columns.
        label : str, optional
            Their label column, by default that of the training.

        Returns
        -------
        left_out : list of LeftOut
            By the order of the values.
        """
        return leave_out(
            self, {(value,): self._with_value(by, value, where) for value in self.values(by, where)}, rows, label
        )

    def cross_validate(
        self, by: str, folds: int = 5, where: Where | None = None, *, rows: Any = None, label: str | None = None
    ) -> list[LeftOut]:
        """Return for each fold of the values of a key the model without its rows, evaluated on them.

        Rows that share a value are in one fold. Parameters, rows and their limits are those of `leave_one_out`.

        Parameters
        ----------
        by : str
            The key.
        folds : int, default=5
            The number of folds.
        where : mapping or callable, optional
            Only these segments.
        rows : table or path, optional
            Labeled rows with the key columns.
        label : str, optional
            Their label column, by default that of the training.

        Returns
        -------
        left_out : list of LeftOut
            One per fold; `values` are those of the fold.
        """
        parts = {
            fold: [values for value in fold for values in self._with_value(by, value, where)]
            for fold in folds_of(self.values(by, where), folds)
        }
        return leave_out(self, parts, rows, label)

    def windows(
        self,
        by: str | None = None,
        where: Where | None = None,
        *,
        windows: Sequence[int] = (7, 28, 91),
        half_lives: Sequence[float] = (7.0, 28.0, 91.0),
        gap: int = 1,
        n_evaluated: int = 12,
        rows: Any = None,
        label: str | None = None,
    ) -> list[WindowScore]:
        """Return how well models of windows of earlier segments rank later ones, the best first.

        Progressive validation: a segment is ranked by the models of the segments before it but for the last `gap`,
        whose labels may not be known yet. Some evenly spaced segments are evaluated, as by `leave_one_out`.

        Parameters
        ----------
        by : str, optional
            The key whose values are in order, by default the first one.
        where : mapping or callable, optional
            Only these segments.
        windows : sequence of int, default=(7, 28, 91)
            Lengths of windows, in values of `by` (days, say); the model of all earlier rows is always a candidate.
        half_lives : sequence of float, default=(7, 28, 91)
            Half-lives, in values of `by`: a row counts half after so many.
        gap : int, default=1
            Values of `by` between the rows of a model and those that it ranks.
        n_evaluated : int, default=12
            How many values of `by` are evaluated, evenly spaced.
        rows : table, path or sequence of paths, optional
            Labeled rows with the key columns; by default those that the files keep.
        label : str, optional
            Their label column, by default that of the training.

        Returns
        -------
        scores : list of WindowScore
            `cube.model(window=..., half_life=...)` gives the model of each.
        """
        key = by or self.keys[0]
        candidates: list[tuple[int | None, float | None]] = [(None, None)]
        candidates += [(window, None) for window in windows]
        candidates += [(None, half_life) for half_life in half_lives]
        self._position(key)
        return compare_windows(self, key, where, candidates, gap, n_evaluated, rows, label)

    def drift(self, by: str | None = None, where: Where | None = None, *, weights: bool = False) -> list[SegmentDrift]:
        """Return how the rows of each value of a key differ from those of all others, for `OnePassGAM`.

        Parameters
        ----------
        by : str, optional
            The key, by default the first one.
        where : mapping or callable, optional
            Only these segments.
        weights : bool, default=False
            Whether to fit a model to each part too, to compare the weights.

        Returns
        -------
        drift : list of SegmentDrift
            By the order of the values: population stability indices of the bin counts of each feature.
        """
        self._position(by or self.keys[0])
        return find_segment_drift(self, by or self.keys[0], where, weights)

    def compare(self, one: Where, other: Where) -> Comparison:
        """Return which terms differ between the models of two slices, in standard errors, for `OnePassGAM`.

        Parameters
        ----------
        one, other : mapping or callable
            Two slices that share no segment.

        Returns
        -------
        comparison : Comparison
            Terms and features, the largest difference first.
        """
        return compare_slices(self, one, other)

    def _with_value(self, key: str, value: str, where: Where | None) -> list[Values]:
        self._position(key)
        allowed = dict.fromkeys(self._members[key].get(value, ()))
        return list(allowed) if where is None else [values for values in self.select(where) if values in allowed]

    def values_of_file(self, path: str | os.PathLike[str]) -> list[Values]:
        """Return the segments that a file of the cube has the sums of.

        Parameters
        ----------
        path : path
            A file of the cube: of a segment, or of totals.

        Returns
        -------
        chosen : list of tuple of str
            Its segments.

        Raises
        ------
        InputError
            If the file is no segment of this cube.
        """
        relative = PurePath(Path(path).absolute().relative_to(self.path.absolute()))
        if relative.parts[0] == TOTALS:
            for key, value in self._manifest.totals:
                if total_path(key, value) == relative:
                    at = self.keys.index(key)
                    return [values for values in self._manifest.segments if values[at] == value]
        values = values_in(self.keys, relative)
        if values is None or values not in self._manifest.segments:
            raise InputError(f"{path}: is no segment of the cube {self.path}")
        return [values]

    def parts(self, chosen: Iterable[Values]) -> list[Segment]:
        """Return what the files of segments have, totals where they are the same.

        Parameters
        ----------
        chosen : iterable of tuple of str
            Segments, as `select` gives them.

        Returns
        -------
        parts : list of Segment
            The contents of as few files as cover them.

        Raises
        ------
        UnreadableFileError
            If a file is damaged or is not of this cube.
        """
        return [self.read(part) for part in self._cover(dict.fromkeys(chosen, 1.0))]

    def read(self, part: Part) -> Segment:
        """Return a file of sums; raise in one line where it is not the one that the manifest lists.

        Parameters
        ----------
        part : Part
            A file of sums, as the manifest lists it.

        Returns
        -------
        segment : Segment
            Its content.

        Raises
        ------
        UnreadableFileError
            If the file is damaged or is not the one that the manifest lists.
        """
        segment = self._read.get(part.path)
        if segment is None:
            path = checked_path(self.path, part.path, part.checksum)
            segment = read_segment(path, self._basis.fit, self._manifest.basis)
            if (segment.keys, segment.values) != (part.keys, part.values):
                raise UnreadableFileError(f"{path}: holds another segment, {'/'.join(segment.values)}")
            size = sum(array.values.nbytes for array in segment.sums.arrays.values())
            if self._read_bytes + size <= CACHE_BYTES:
                self._read[part.path], self._read_bytes = segment, self._read_bytes + size
        return segment

    def _position(self, key: str) -> int:
        choose(self.keys, {key: "*"})  # raises for other names
        return self.keys.index(key)

    def _cover(self, chosen: Slice) -> list[Part]:
        """Return the fewest files with the sums of segments: totals where all of a value are in the slice alike."""
        fewest, best, covered_by_best = len(chosen), list[Part](), set[Values]()
        for key, members in self._members.items() if self._manifest.totals else ():
            totals, covered = list[Part](), set[Values]()
            for value, segments in members.items():
                checksum, factor = self._manifest.totals.get((key, value)), chosen.get(segments[0])
                if checksum is None or factor is None or any(chosen.get(one) != factor for one in segments):
                    continue
                totals.append(Part(total_path(key, value), checksum, (key,), (value,), factor))
                covered.update(segments)
            if len(totals) + len(chosen) - len(covered) < fewest:
                fewest, best, covered_by_best = len(totals) + len(chosen) - len(covered), totals, covered
        cells = (item for item in chosen.items() if item[0] not in covered_by_best)
        return [*best, *(self._segment_part(values, factor) for values, factor in cells)]

    @cached_property
    def _members(self) -> dict[str, dict[str, list[Values]]]:
        """The segments of each value of each key."""
        members: dict[str, dict[str, list[Values]]] = {key: {} for key in self.keys}
        for values in self._manifest.segments:
            for key, value in zip(self.keys, values, strict=True):
                members[key].setdefault(value, []).append(values)
        return members

    def _segment_part(self, values: Values, factor: float) -> Part:
        checksum = self._manifest.segments[values].checksum
        return Part(segment_path(self.keys, values), checksum, self.keys, values, factor)

    def _described_keys(self) -> str:
        first, last = next(iter(self._manifest.segments)), list(self._manifest.segments)[-1]
        return ", ".join(f"{key} ({a} to {b})" for key, a, b in zip(self.keys, first, last, strict=True))
