"""Messages name parameters of the library, and a command can word them as its flags."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from opauc.data import BadRows, ReadOptions
from opauc.data.open_stream import open_stream, stream_of_memory
from opauc.errors import InputError, TooManyBadRowsError


def flag(parameter):
    return f"--{parameter.name}{'' if parameter.value is ... else f' {parameter.value}'}"


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"a": [1.0]}, {}, "name the label (--label), one of a"),
        ({"a": ["x"], "y": [1]}, {}, "declare it categorical (--categorical ['a']) or leave it out (--drop ['a'])"),
        ({"a": [[1]], "y": [1]}, {}, "turn it into one or leave it out (--drop ['a'])"),
        ({"a": [None], "y": [1]}, {}, "missing values can be taken as zero or as the mean (--missing)"),
        ({"a": [None], "y": [1]}, {"categorical": ("a",)}, "without one (--missing zero or --missing mean)"),
    ],
)
def test_a_command_shows_hints_as_flags(data, options, message):
    with pytest.raises(InputError) as error:
        list(stream_of_memory(pa.table(data), options=ReadOptions(**options)).batches())
    assert "--" not in str(error.value)
    assert error.value.render(flag).endswith(message)


def test_hints_of_sparse_rows_and_of_text_are_shown_as_flags_too(tmp_path):
    rows = sparse.csr_array(np.array([[np.nan, 1.0]]))
    with pytest.raises(InputError) as error:
        list(stream_of_memory(rows, [1], ReadOptions(missing="mean")).batches())
    assert error.value.render(flag).endswith("can be taken as zero, not as the mean (--missing)")
    (tmp_path / "a.csv").write_text("yes,1,2\nno,3,4\n")
    with pytest.raises(InputError) as error:
        list(open_stream([tmp_path / "a.csv"], ReadOptions(label=0)).batches())
    assert error.value.render(flag).endswith("say whether it is a header (--header True or --header False)")


def test_one_bad_row_too_many_keeps_the_hints_of_the_last():
    table = pa.table({"a": [None, None], "y": [1, 0]})
    stream = stream_of_memory(table)
    stream.bad_rows = BadRows("skip", most=1)
    with pytest.raises(TooManyBadRowsError) as error:
        list(stream.batches())
    assert error.value.render(flag).endswith("as zero or as the mean (--missing)")
