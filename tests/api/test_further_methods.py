"""Methods of other packages take part in comparisons by their entry points."""

import sys

import numpy as np
import pytest

import opauc
from opauc.api.methods import MethodNames
from opauc.errors import InputError, InputWarning, ParameterError

PACKAGE = """
import numpy as np
from opauc.metrics import FittedMethod


def column(number):
    return lambda rows, labels: lambda rows: np.asarray(rows[:, [number]].todense() if hasattr(rows, "todense")
                                                        else rows[:, [number]], float).ravel()


def first_feature():
    return FittedMethod("first_feature", column(0))


def count_categories(categorical):
    def fit(rows, labels):
        assert categorical.tolist() == [False, True], categorical
        return lambda rows: rows[:, 0] + 10.0 * (rows[:, 1] == 0)

    return FittedMethod("count_categories", fit)


def named_otherwise():
    return FittedMethod("other", column(0))


def broken():
    raise RuntimeError("no license")


def exact():
    raise AssertionError("the name is that of a solver")
"""
WORKING = """
[opauc.feature_methods]
first_feature = company:first_feature
exact = company:exact

[opauc.table_methods]
count_categories = company:count_categories
"""
BROKEN = """
[opauc.feature_methods]
named_otherwise = company:named_otherwise
broken = company:broken
absent = company_that_is_not_there:method
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return what installs the package with some entry points."""

    def write(entry_points):
        (tmp_path / "company.py").write_text(PACKAGE)
        described = tmp_path / "company-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: company\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(entry_points)
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    sys.modules.pop("company", None)


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    size, color = random.normal(size=600), random.choice(["blue", "red"], 600)
    bought = size + 10 * (color == "blue") + random.normal(size=600) > 5
    path = tmp_path / "table.csv"
    lines = [f"{one:.3f},{two},{int(three)}" for one, two, three in zip(size, color, bought, strict=True)]
    path.write_text("\n".join(["size,color,bought", *lines]))
    return path


def test_they_take_part_like_those_of_this_library(install, table):
    install(WORKING)
    names = MethodNames.of(None)
    assert "first_feature" in names.of_features
    assert "count_categories" in names.of_tables
    compared = {
        one.name: one for one in opauc.compare(
            table, label="bought", methods=["count_categories", "first_feature", "exact", "gam"], random_state=1
        )
    }  # fmt: skip
    assert not any(one.trouble for one in compared.values())
    assert compared["count_categories"].auc > 0.95 > compared["first_feature"].auc > 0.5
    assert compared["exact"].auc > 0.95


def test_one_that_does_not_work_is_named_and_left_out_where_nobody_asked_for_it(install):
    install(BROKEN)
    for name, message in (
        ("named_otherwise", "method named_otherwise of company: calls itself 'other'"),
        ("broken", "method broken of company: RuntimeError: no license"),
        ("absent", "method absent of company_that_is_not_there: ModuleNotFoundError: No module named"),
    ):
        with pytest.raises(InputError, match=message):
            MethodNames.of([name])
    with pytest.warns(InputWarning, match="of company") as warned:
        names = MethodNames.of(None)
    assert len([one for one in warned if issubclass(one.category, InputWarning)]) == 3
    assert not {"named_otherwise", "broken", "absent"} & {*names.of_features, *names.of_tables}
    assert "exact" in names.of_features


def test_an_unknown_name_is_refused_with_all_there_are(install):
    install(WORKING)
    with pytest.raises(ParameterError, match="unknown method 'first_featur'; expected one of first_feature"):
        MethodNames.of(["first_featur"])
