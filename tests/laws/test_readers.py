"""What every format promises, found by looking in the folder: the rows of the arrays, from every resume_position on."""

import numpy as np
import pytest

from opauc.core import registry
from opauc.data import ReadOptions, ResumePosition
from opauc.data import sources as byte_source
from opauc.data.open_stream import open_stream
from tests.tables import FORMATS, dense, gathered, rows_and_labels, write_rows


@pytest.fixture(params=["by kernels", "in plain Python"])
def small_parts(monkeypatch, request):
    """A few rows in every part of text, read as long ones are or as short ones are."""
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2048)
    monkeypatch.setattr(byte_source, "SMALL_TEXT", 0 if request.param == "by kernels" else 2**30)


def test_the_tests_write_every_format_there_is():
    written = {f".{form.removesuffix('.gz').rpartition('.')[2]}" for form in FORMATS}
    for name, kind in registry.FORMATS.items():
        assert written & set(kind.endings), f"no test writes {name}"


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_several_files_are_one_stream_that_goes_on_from_any_bookmark(tmp_path, form):
    rows, labels = rows_and_labels(0, 300, 4)
    paths = [write_rows(tmp_path, form, rows[part], labels[part], name)
             for name, part in (("a", slice(0, 170)), ("b", slice(170, 300)))]  # fmt: skip
    found, marks, chunks = gathered(open_stream(paths, ReadOptions()))
    np.testing.assert_allclose(found, rows, rtol=1e-15)
    assert marks.tolist() == labels.tolist()
    assert chunks[-1].resume_position.rows == 300
    passed = [chunk.bytes_read for chunk in chunks]
    assert passed == sorted(passed)
    assert passed[-1] == sum(path.stat().st_size for path in paths)
    assert [record["rows"] for record in chunks[-1].resume_position.records] == [170, 130]
    for at, chunk in enumerate(chunks):
        saved = ResumePosition.of_json(chunk.resume_position.to_json())
        rest = list(open_stream(paths, ReadOptions(), saved).chunks())
        assert len(rest) == len(chunks) - at - 1
        for again, wanted in zip(rest, chunks[at + 1 :], strict=True):
            assert again.first_row == wanted.first_row
            assert dense(again.rows).tobytes() == dense(wanted.rows).tobytes()
            assert again.line_of(0) == wanted.line_of(0)
            assert again.resume_position.to_json() == wanted.resume_position.to_json()
