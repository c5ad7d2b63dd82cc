"""Which files a model was trained on before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opauc.core.batch import SourceRecord
from opauc.types import Settings

# Files that a warning names.
MAX_NAMED_FILES = 3


def trained_before(provenance: Settings, records: Sequence[SourceRecord]) -> list[SourceRecord]:
    """Return the files whose content a model was trained on already, and has not forgotten.

    Parameters
    ----------
    provenance : mapping
        Where the rows of the model come from.
    records : sequence of SourceRecord
        What was read of each file.

    Returns
    -------
    records : list of SourceRecord
        Those with rows and with a hash of the model's.

    Examples
    --------
    >>> from opauc.api.training_files import trained_before
    >>> march = {"path": "march.csv", "bytes": 99, "rows": 8, "sha256": "ab12"}
    >>> [record["path"] for record in trained_before({"inputs": [march]}, [{**march, "path": "copy.csv"}])]
    ['copy.csv']
    """
    known = Counter(record["sha256"] for record in provenance.get("inputs", ()))
    known.subtract(sha256 for removed in provenance.get("forgotten", ()) for sha256 in removed.get("sha256", ()))
    return [record for record in records if record["rows"] and known[record["sha256"]] > 0]


def training_rows_warning(
    trained_on: Sequence[SourceRecord], n_files: int, consequence: str = "its AUC on new rows is probably lower"
) -> str:
    """Return a warning that rows were training rows, with the first files and what follows.

    Examples
    --------
    >>> from opauc.api.training_files import training_rows_warning
    >>> march = {"path": "march.csv", "bytes": 99, "rows": 8, "sha256": "ab12"}
    >>> training_rows_warning([march], 2)
    'march.csv: the model was trained on these rows (1 of 2 files); its AUC on new rows is probably lower'
    """
    first = ", ".join(record["path"] for record in trained_on[:MAX_NAMED_FILES])
    more = f" and {len(trained_on) - MAX_NAMED_FILES:,} more" if len(trained_on) > MAX_NAMED_FILES else ""
    part = f" ({len(trained_on):,} of {n_files:,} files)" if n_files > 1 else ""
    return f"{first}{more}: the model was trained on these rows{part}; {consequence}"
