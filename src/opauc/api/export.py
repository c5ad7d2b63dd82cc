"""Write fitted models in other languages and formats."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from opauc.api.output_file import check_writable
from opauc.core.atomic_write import atomic_write
from opauc.core.fit import only_two_classes
from opauc.core.model import Model, load_model
from opauc.core.registry import EXPORTS
from opauc.core.transaction import reading
from opauc.errors import Parameter, ParameterError
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.make_portable import make_portable, make_portable_classes


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    to: str | None = None,
    reasons: int = 0,
    dialect: str = "duckdb",
    table: str = "data",
    typed: bool = False,
    points_to_double: float = 20.0,
    base_points: float = 600.0,
    base_odds: float = 50.0,
) -> None:
    """Write a fitted model in another language or format, in which it scores raw rows without this library.

    Every format gives the score and the probability of a row, missing values and new categories included; of a model
    of several classes json, js, c, sql and onnx give those of each class.

    Parameters
    ----------
    model : estimator or path
        A fitted `OnePassGAM`, `OPAUC` or `OPAUCCV` of columns, or its file.
    path : path
        File to write; one that is there is replaced.
    to : str, default=None
        The format; by default that of the ending of `path`.
    reasons : int, default=0
        How many reasons for its score are given with each row, where the format can.
    dialect : str, default="duckdb"
        The dialect of SQL: duckdb, postgres, bigquery, snowflake, spark or tsql.
    table : str, default="data"
        The name of the table that SQL reads, schema and table between dots; parts may be in double quotes.
    typed : bool, default=False
        Whether numbers and dates have types of their own in that table. Text is then not read, which makes SQL shorter
        and faster.
    points_to_double : float, default=20
        The points of a scorecard by which the odds of the positive class double; with 0, points are log-odds.
    base_points : float, default=600
        The points of a scorecard at the odds `base_odds`.
    base_odds : float, default=50
        The odds of the positive class at which a scorecard has `base_points`.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import opauc
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opauc.export(model, f"{folder}/model.json")
    ...     json.loads(Path(f"{folder}/model.json").read_text())["labels"]
    {'negative': 'no', 'positive': 'yes'}
    """
    target = Path(path)
    chosen = EXPORTS[to] if to is not None else _format_of(target)
    options = ExportOptions(reasons, dialect, table, typed, points_to_double, base_points, base_odds)
    _check_options(chosen, options)
    check_writable(target)
    if isinstance(model, str | os.PathLike):
        fitted = load_model(model)
    else:
        with reading(model):
            fitted = model._to_model()
    content = _content(fitted, chosen, target.suffix.lower(), options)
    with atomic_write(target) as temporary:
        temporary.write_bytes(content)


def _content(model: Model, chosen: ExportFormat, ending: str, options: ExportOptions) -> bytes:
    """Return the content of the file of a model in a format."""
    if not model.several_classes:
        return chosen.writers.get(ending, chosen.write)(make_portable(model), options)
    n_classes = model.classes.size
    if chosen.write_classes is None:
        able = ", ".join(name for name, one in EXPORTS.items() if one.write_classes is not None)
        raise only_two_classes(f"the format {chosen.name}", n_classes, f"{able} take more")
    if options.reasons:
        raise only_two_classes(Parameter("reasons", options.reasons), n_classes, "leave it out")
    return chosen.write_classes(make_portable_classes(model), options)


def _format_of(path: Path) -> ExportFormat:
    """Return the format of the ending of a file."""
    known = {ending: name for name, one in EXPORTS.items() for ending in one.endings}
    if path.suffix.lower() not in known:
        endings = ", ".join(sorted(known))
        raise ParameterError(
            f"{path}: the ending {path.suffix!r} is of no format; name one (", Parameter("to", ...), f") or end the "
            f"name with one of {endings}",
        )  # fmt: skip
    chosen: ExportFormat = EXPORTS[known[path.suffix.lower()]]
    return chosen


def _check_options(chosen: ExportFormat, options: ExportOptions) -> None:
    """Raise where an option is given that the format does not take."""
    for option in fields(options):
        value = getattr(options, option.name)
        if value != option.default and option.name not in chosen.options:
            able = ", ".join(name for name, one in EXPORTS.items() if option.name in one.options)
            raise ParameterError(
                f"the format {chosen.name} does not take ", Parameter(option.name), f"; these do: {able or 'none'}"
            )
    if options.reasons < 0:
        raise ParameterError(Parameter("reasons"), f" must be at least 0, got {options.reasons}")
