"""Files with random changes under a valid checksum: each is refused in one line, or scores rows; none takes memory."""

import itertools
import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pytest

from opauc.errors import OpaucError, UnreadableFileError
from tests.core.hostile_files import load, write_hostile
from tests.security.files import NAMES, mutations, read, scores_of

# Of each file; more than 300 in all.
N_MUTATIONS = 14


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_file_is_refused_in_one_line_or_scores_rows(tmp_path, folder, name):
    kind, header, arrays = read(folder, name)
    bad = tmp_path / "bad"
    assert np.isfinite(scores_of(load(kind, folder / name))).all()
    for how, described, spoiled in itertools.islice(mutations(NAMES.index(name), kind, header, arrays), N_MUTATIONS):
        write_hostile(bad, described, spoiled)
        try:
            check_harmless(kind, bad)
        except Exception as error:
            raise AssertionError(f"{how}: {error!r}") from error


def check_harmless(kind, path):
    """Load a file and score rows with it; raise unless that ends as it may, in memory of a few times its size."""
    tracemalloc.start()
    try:
        content = load(kind, path)
    except UnreadableFileError as error:
        assert_named_in_one_line(error, path)
        return
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**20 + 8 * path.stat().st_size
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(OpaucError):  # refused once it is used: the sums are not those of rows
            assert np.isfinite(scores_of(content)).all()


def assert_named_in_one_line(error, path):
    """Check that a file was refused for its content, by a check: not by an accident on the way."""
    message = str(error)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert not isinstance(error.__cause__, MemoryError | IndexError | AttributeError | RecursionError)
