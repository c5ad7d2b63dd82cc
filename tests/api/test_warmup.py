"""`opauc.warmup` leaves nothing of the usual work to compile."""

import json

import numpy as np
import pandas as pd

import opauc
from opauc.core.kernels.compile import compile_notice


def test_nothing_is_compiled_after_it(tmp_path):
    opauc.warmup()
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=700), "b": rng.choice(["u", "v"], 700), "c": rng.integers(0, 90, 700)})
    y = rng.random(700) < 1 / (1 + np.exp(-2 * X["a"]))
    with compile_notice(lambda _: None) as notice:
        model = opauc.OnePassGAM(random_state=0).fit(X, y)
        model.partial_fit(X, y).explain(X)
        opauc.OPAUCCV().fit(X[["a", "c"]], y).predict_proba(X[["a", "c"]])
        X.assign(y=y.astype(int)).to_csv(tmp_path / "rows.csv", index=False)
        opauc.evaluate(opauc.train(tmp_path / "rows.csv", label="y"), tmp_path / "rows.csv", label="y")
    assert notice.seconds == 0.0


def test_the_command_says_what_it_took(monkeypatch, capsys):
    monkeypatch.setattr("opauc.cli.warmup.warmup", lambda: opauc.api.warmup.WarmUp(12.34, "kept"))
    from opauc.cli.warmup import command

    assert command() == 0
    assert capsys.readouterr().err == "compiled in 12.3 s\n"
    command(json=True)
    assert json.loads(capsys.readouterr().out)["seconds"] == 12.34
