"""What report pages say of the model, of where its rows came from, and of themselves."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from opauc.core.atomic_write import atomic_write
from opauc.core.batch import SourceRecord
from opauc.core.model import Model
from opauc.report import FileRow
from opauc.version import __version__

# A password in the address of a database.
PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")


def write_page(path: Path, page: str) -> None:
    """Write a page to a file, which appears as a whole."""
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def about_page(command: str = "") -> dict[str, object]:
    """Return when and by what a page is made; passwords in addresses of the command are left out."""
    facts: dict[str, object] = {"Written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"}
    if command:
        facts["Command"] = PASSWORD.sub(r"\1…@", command)
    return facts | {"opauc": __version__, "Python": platform.python_version(), "NumPy": np.__version__}


def described_estimator(model: Model) -> str:
    """Return the estimator, with the solver and rank where it resolved them."""
    chosen = model.fit.fitted_attributes
    solver = f", solver {chosen['solver_']}" if "solver_" in chosen else ""
    rank = f", rank {chosen['rank_']}" if chosen.get("rank_") else ""
    return f"{model.estimator}{solver}{rank}"


def provenance_rows(model: Model) -> dict[str, object]:
    """Return where the rows of the model came from, as rows of a table."""
    provenance = model.provenance
    table: dict[str, object] = {"Trained by": f"opauc {provenance['library']}"} if "library" in provenance else {}
    if "rows" in provenance:
        table["Training rows"] = provenance["rows"]
    if provenance.get("skipped_rows"):
        table["Training rows skipped"] = provenance["skipped_rows"]
    if "forgotten" in provenance:
        table["Rows forgotten"] = sum(removed["rows"] for removed in provenance["forgotten"])
    return table


def training_file_rows(model: Model) -> list[FileRow]:
    """Return the files that a model was trained on."""
    return [
        FileRow(record["path"], record["rows"], record["bytes"], record["sha256"])
        for record in model.provenance.get("inputs", ())
    ]


def rows_by_file(records: Sequence[SourceRecord]) -> Mapping[str, int]:
    """Return the rows of files by their paths."""
    rows = Counter[str]()
    for record in records:
        rows[record["path"]] += record["rows"]
    return rows
