"""Whole numbers that are categories are the same ones however a program writes them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import opauc

CODES = [1_000_000, 2_000_001, 12_345_678_901, -3]
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame({"shop": RANDOM.choice(CODES, 400), "x": RANDOM.normal(size=400)})
LABELS = (FRAME["shop"].isin(CODES[:2]) ^ (RANDOM.random(400) < 0.1)).astype(int)
OTHERS = FRAME.assign(shop=FRAME["shop"].astype(float))
WAYS = {
    "with decimals": lambda path: OTHERS.to_csv(path, index=False),
    "with exponents": lambda path: OTHERS.to_csv(path, index=False, float_format="%.10e"),
    "as floats": lambda path: parquet.write_table(pa.Table.from_pandas(OTHERS), path),
    "as decimals": lambda path: parquet.write_table(
        pa.table({"shop": pa.array(OTHERS["shop"]).cast(pa.decimal128(15, 2)), "x": OTHERS["x"]}), path
    ),
}


@pytest.mark.parametrize("solver", ["gam", "exact"])
@pytest.mark.parametrize("way", WAYS)
def test_codes_written_as_floats_are_the_codes_of_the_model(tmp_path, solver, way):
    FRAME.assign(y=LABELS).to_csv(tmp_path / "rows.csv", index=False)
    model = opauc.train(tmp_path / "rows.csv", label="y", categorical=["shop"], solver=solver)
    path = tmp_path / ("other.parquet" if way.startswith("as") else "other.csv")
    WAYS[way](path)
    np.testing.assert_allclose(model.decision_function(path), model.decision_function(FRAME), atol=1e-6)


def test_other_decimals_stay_categories_of_their_own(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("version,y\n" + "1.10,0\n1.1,1\n2,0\n2.0,1\n" * 5)
    model = opauc.train(path, label="y", categorical=["version"], solver="exact")
    assert model.feature_names_in_.tolist() == ["version=1.10", "version=1.1", "version=2"]
