"""Laws of every file format: the rows are those written, also from any resume position on."""

import numpy as np
import pytest

from opauc.core import registry
from opauc.data import ReadOptions, ResumePosition
from opauc.data import sources as byte_source
from opauc.data.open_stream import open_stream
from tests.tables import FORMATS, dense, gathered, rows_and_labels, write_rows


@pytest.fixture(params=["by kernels", "in plain Python"])
def small_blocks(monkeypatch, request):
    """Read text in blocks of a few rows, by the kernels for long text or in plain Python as short text."""
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2048)
    monkeypatch.setattr(byte_source, "SMALL_TEXT", 0 if request.param == "by kernels" else 2**30)


def test_the_tests_write_every_registered_format():
    written = {f".{form.removesuffix('.gz').rpartition('.')[2]}" for form in FORMATS}
    for name, kind in registry.FORMATS.items():
        assert written & set(kind.endings), f"no test writes {name}"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_several_files_are_one_stream_that_resumes_at_any_position(tmp_path, form):
    rows, labels = rows_and_labels(0, 300, 4)
    paths = [write_rows(tmp_path, form, rows[part], labels[part], name)
             for name, part in (("a", slice(0, 170)), ("b", slice(170, 300)))]  # fmt: skip
    stream_rows, stream_labels, chunks = gathered(open_stream(paths, ReadOptions()))
    np.testing.assert_allclose(stream_rows, rows, rtol=1e-15)
    assert stream_labels.tolist() == labels.tolist()
    assert chunks[-1].resume_position.rows == 300
    bytes_read = [chunk.bytes_read for chunk in chunks]
    assert bytes_read == sorted(bytes_read)
    assert bytes_read[-1] == sum(path.stat().st_size for path in paths)
    assert [record["rows"] for record in chunks[-1].resume_position.records] == [170, 130]
    for at, chunk in enumerate(chunks):
        saved = ResumePosition.of_json(chunk.resume_position.to_json())
        rest = list(open_stream(paths, ReadOptions(), saved).batches())
        assert len(rest) == len(chunks) - at - 1
        for again, expected in zip(rest, chunks[at + 1 :], strict=True):
            assert again.first_row == expected.first_row
            assert dense(again.rows).tobytes() == dense(expected.rows).tobytes()
            assert again.line_of(0) == expected.line_of(0)
            assert again.resume_position.to_json() == expected.resume_position.to_json()
