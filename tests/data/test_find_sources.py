import gzip

import pytest

from opauc.data.find_sources import find_sources, format_of
from opauc.errors import InputError


def test_folders_patterns_and_files_are_read_in_order(tmp_path):
    for name in ("b.parquet", "a.parquet", ".hidden.csv", "_SUCCESS", "notes.md", "sub/c.svm.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [path.removeprefix(f"{tmp_path}/") for path in find_sources([tmp_path, f"{tmp_path}/?.parquet", "-"])]
    assert names == ["a.parquet", "b.parquet", "sub/c.svm.gz", "a.parquet", "b.parquet", "-"]


def test_nothing_found_is_an_error_that_says_where(tmp_path):
    with pytest.raises(InputError, match=r"nothing-here\.csv: no such file"):
        find_sources(["nothing-here.csv"])
    with pytest.raises(InputError, match="no data in this folder"):
        find_sources([tmp_path])
    with pytest.raises(InputError, match="only once"):
        find_sources(["-", "-"])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("a.csv", "csv"), ("a.CSV.gz", "csv"), ("a.tsv.zst", "tsv"), ("a.pq", "parquet"), ("a.feather", "arrow"),
     ("a.npz", "numpy"), ("a.svmlight.xz", "libsvm")],
)  # fmt: skip
def test_endings_tell_the_format(name, wanted):
    assert format_of(name).name == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [(b"+1 3:1 7:0.5\n", "libsvm"), (b"# comment\n-1\n", "libsvm"), (b"a,b\n1,2\n", "csv"), (b"a\tb\n1\t2\n", "tsv"),
     (b"", "libsvm"), (b"age;city\n30;Bern\n", "csv"), (b"age|city\n30|Bern\n", "csv"), (b"30|2\n", "csv")],
)  # fmt: skip
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_first_line_tells_the_format_of_a_file_without_ending(tmp_path, content, wanted, pack):
    (tmp_path / "a9a").write_bytes(pack(content))
    assert format_of(str(tmp_path / "a9a")).name == wanted


def test_a_format_can_be_named_and_must_be_for_standard_input():
    assert format_of("-", "csv").name == "csv"
    with pytest.raises(InputError, match="standard input: its format cannot be inferred"):
        format_of("-")
    with pytest.raises(InputError, match="format: unknown format 'excel'; expected one of libsvm, csv"):
        format_of("a.csv", "excel")
