"""The benchmark's parts that no other test runs still run."""

import pytest
from benchmarks.from_files import train_in_process


@pytest.mark.parametrize("ahead", [False, True])
def test_a_file_is_trained_on_with_and_without_a_reader_that_runs_ahead(tmp_path, ahead):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2\n-1 1:1\n" * 20)
    assert train_in_process(path, ahead).rows == 40
