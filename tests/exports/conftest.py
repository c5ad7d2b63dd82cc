"""The fitted models that every format of export is held to."""

import pytest

from tests.data import postgresql
from tests.exports import cases

NAMES = (
    "mixed", "trees", "scoring_only", "edited", "text", "linear_zero", "linear_mean", "linear_error", "array_0",
    "array_1", "array_2", "array_3",
)  # fmt: skip


@pytest.fixture(scope="session")
def case_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="session")
def case_of(case_folder):
    """Return the case of a name."""

    def find(name):
        if name.startswith("array_"):
            return cases.arrays()[int(name[-1])]
        if name.startswith("linear_"):
            return cases.linear_table(case_folder, name.removeprefix("linear_"))
        maker = getattr(cases, name)
        return maker(case_folder) if name in ("scoring_only", "text") else maker()

    return find


@pytest.fixture(params=NAMES)
def case(request, case_of):
    return case_of(request.param)


@pytest.fixture(scope="session")
def postgres():
    """Start PostgreSQL; queries are not compiled, which takes longer than running them."""
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgresql.cluster() as address:
        yield f"{address}&options=-c%20jit%3Doff"
