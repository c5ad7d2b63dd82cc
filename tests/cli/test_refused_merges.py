"""What cannot be merged or forgotten is refused in one line that names the solver."""

import pytest

from tests.tables import rows_and_labels, write_rows

ORDER_DEPENDENT = [
    (["--solver", "sgd"], "'sgd'"),
    (["--solver", "sgd", "--rank", "3"], "'sgd' with rank 3"),
    (["--rank", "0"], "'sgd' with rank 0"),
    (["--solver", "progressive_selection"], "'progressive_selection'"),
]


@pytest.mark.parametrize(("options", "called"), ORDER_DEPENDENT, ids=[called for _, called in ORDER_DEPENDENT])
def test_merge_and_forget_name_the_solver(tmp_path, opauc, options, called):
    data, model, exact = write_rows(tmp_path, "npz", *rows_and_labels()), tmp_path / "model", tmp_path / "exact"
    assert opauc("train", "--solver", "auto", data, "-o", model, *options).code == 0
    assert opauc("train", "--solver", "auto", data, "-o", exact).code == 0
    needs = f"needs solver='exact': the state of {called} depends on each row in turn\n"
    merge = ["merge", "-o", tmp_path / "out"]
    for models in ((model, model), (model, exact), (exact, model)):
        refused = opauc(*merge, *models)
        assert (refused.code, refused.err) == (2, f"opauc: {models[1]}: merge {needs}")
    refused = opauc("forget", model, data, "-o", tmp_path / "out")
    assert refused.code == 2
    assert refused.err.endswith(f": forget {needs}")
    assert not (tmp_path / "out").exists()
