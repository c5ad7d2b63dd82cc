"""The page on which the terms of a model are edited, and the patch that it exports."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from opauc.additive.editing.edit import edit_term, remove_term
from opauc.additive.editing.ledger import CODES, MAIN
from opauc.additive.kernels.rows import CATEGORICAL, FIRST, NUMERIC
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.grids import has_missing, interpolate_knots, knots_of, main_grid, own_columns
from opauc.additive.terms.term_sums import TermColumns
from opauc.api.describe import shown_terms, terms_of
from opauc.core.checksummed_file import checksum, one_line
from opauc.core.fit import only_scores
from opauc.core.json_schema import json_as
from opauc.core.model import Model, model_parts
from opauc.errors import InputError, OpaucError
from opauc.report.editing import PATCH_FORMAT, PATCH_VERSION, EditableTerm, EditingPage, render_editing
from opauc.report.inputs import ShownTerm


class EditedTerm(TypedDict):
    """The term of an edit."""

    term: str


class PatchEdit(EditedTerm, total=False):
    """An edit of a patch: a term is set to points or levels, or removed."""

    points: list[list[float]]
    levels: dict[str, float]
    missing: float
    remove: bool


class Patch(TypedDict):
    """The edits of a page, and the fingerprint of the model that they are for."""

    format: str
    version: int
    model: str
    edits: list[PatchEdit]


def fingerprint(model: Model) -> str:
    """Return a hash of all that a model has learned; whatever changes the model changes it.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> from opauc.api.edit import fingerprint
    >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
    >>> fingerprint(model._to_model()) == fingerprint(model.remove("x0")._to_model())
    False
    """
    header, arrays = model_parts(model)
    return checksum(json.dumps(header, sort_keys=True), arrays)


def edit_page(model: Model, name: str = "model") -> str:
    """Return the editing page of a model as HTML; `name` is that of its file.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> from opauc.api.edit import edit_page
    >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
    >>> "<title>Edit model</title>" in edit_page(model._to_model())
    True
    """
    terms = _editable(model)
    columns = {term.name: (number, term) for number, term in enumerate(terms.term_columns)}
    command = f"opauc edit {shlex.quote(name)} --apply patch.json -o NEW --who NAME --why REASON"
    page = EditingPage(
        title=Path(name).name, model=fingerprint(model), command=command,
        terms=[_editable_term(terms, *columns[shown.name], shown) for shown in shown_terms(terms)],
    )  # fmt: skip
    return render_editing(page)


def read_patch(path: str | os.PathLike[str], model: Model) -> Patch:
    """Return the patch in a file; raise unless it is one for this model."""
    try:
        patch = json_as(Patch, json.loads(Path(path).read_text(encoding="utf-8")), "patch")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: is no patch that `opauc edit` exports ({one_line(error)})") from error
    if patch["format"] != PATCH_FORMAT or patch["version"] > PATCH_VERSION:
        raise InputError(f"{path}: is no patch of this version of opauc: {patch['format']!r} {patch['version']}")
    if patch["model"] != fingerprint(model):
        raise InputError(
            f"{path}: is a patch for another model, or for this one before it was changed; "
            "export it from a page that `opauc edit` writes for this model"
        )
    return patch


def apply_patch(model: Model, path: str | os.PathLike[str], who: str = "", why: str = "") -> tuple[Model, int]:
    """Return the model with the edits of a patch, which is checked, and how many these are."""
    terms, patch = _editable(model), read_patch(path, model)
    if not patch["edits"]:
        raise InputError(f"{path}: has no edits")
    fit = terms.solution
    for edit in patch["edits"]:
        try:
            fit = _apply(replace(terms, solution=fit), edit, who, why)
        except OpaucError as error:
            raise InputError(f"{path}: ", *error.parts) from error
    _, reading = fit.finish(model.reading) if model.reading is not None else (fit, None)
    return replace(model, fit=fit, reading=reading), len(patch["edits"])


def _apply(terms: Terms, edit: PatchEdit, who: str, why: str) -> AdditiveFit:
    """Return the fit with one edit of a patch."""
    name, points, levels = edit["term"], edit.get("points"), edit.get("levels")
    if edit.get("remove", False):
        return remove_term(terms, name, who, why)
    if (points is None) == (levels is None):
        raise InputError(f"term {name!r}: expected points or levels")
    missing = edit.get("missing")
    if levels is not None:
        return edit_term(terms, name, levels, missing, who, why)
    return edit_term(terms, name, [tuple(point) for point in points or ()], missing, who, why)  # type: ignore[misc]


def _editable(model: Model) -> Terms:
    """Return the terms of a model whose basis is fixed; raise for a model that cannot be edited."""
    reading = model.reading
    fit = terms_of(model, f"only OnePassGAM has terms to edit, and this is a model of {model.estimator}").solution
    if not fit.can_train:
        raise only_scores()
    if not fit.counts.all_seen:
        raise InputError("only a model that has learned from rows of both classes can be edited")
    fit = fit.with_basis()
    return terms_of(replace(model, fit=fit, reading=None if reading is None else fit.trim_reading(reading)))


def _editable_term(terms: Terms, number: int, term: TermColumns, shown: ShownTerm) -> EditableTerm:
    """Return a term as the page takes it."""
    edited = term.key in terms.solution.edits.in_force
    if term.key.kind not in (MAIN, CODES):
        return EditableTerm(term=shown, edited=edited)
    j, basis = term.inputs[0], terms.basis
    missing = term.key.kind == MAIN and has_missing(basis, j)
    names = tuple(str(name) for name in (shown.grid[0][:-1] if missing else shown.grid[0]))
    if term.key.kind == CODES or basis.tables.kinds[j] == CATEGORICAL:
        return EditableTerm(term=shown, names=names, missing=missing, edited=edited)
    grid = main_grid(basis, j)
    numbers = grid[:-1] if missing else grid
    if basis.tables.kinds[j] != NUMERIC or basis.tables.columns[j, FIRST] < 0:
        return EditableTerm(term=shown, numbers=numbers, missing=missing, edited=edited)
    weights = terms.numbers.column_weights[:, [number]].toarray()[basis.effects[(j,)], 0]
    values = own_columns(basis, j, grid) @ weights
    offsets = (values - interpolate_knots(basis, j, values))[: numbers.size]
    is_knot = np.isin(numbers, knots_of(basis, j))
    return EditableTerm(term=shown, numbers=numbers, knots=is_knot, offsets=offsets, missing=missing, edited=edited)
