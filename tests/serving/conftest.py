"""Models behind HTTP."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.serving.app import create_app
from opauc.serving.settings import ServeSettings
from tests.problems import problem

# The basis is fixed by fewer rows than there are.
INIT_SIZE = 2000


def table(n_rows=2400, seed=0):
    """Return rows of numbers, text numbers, strings and dates, and labels."""
    random = np.random.default_rng(seed)
    age, city = random.normal(45, 12, n_rows), random.choice(["Bern", "Chur", "Genf"], n_rows)
    score = np.sin(age / 8) + (city == "Bern") - 0.5
    frame = pd.DataFrame(
        {
            "age": np.where(random.random(n_rows) < 0.1, np.nan, age.round(1)),
            "income": np.char.mod("%.2f", random.lognormal(10, 1, n_rows)),
            "city": city,
            "since": np.datetime_as_string(np.datetime64("2020-01-01") + random.integers(0, 700, n_rows)),
        }
    )
    return frame, np.where(random.random(n_rows) < 1 / (1 + np.exp(-2 * score)), "yes", "no")


ROW = {"age": 33.5, "income": "1,200.50", "city": "Bern", "since": "2021-05-06"}


@pytest.fixture(scope="session")
def gam():
    frame, labels = table()
    model = OnePassGAM(init_size=INIT_SIZE, trees=False, random_state=0)
    return model.partial_fit(frame, labels)


@pytest.fixture(scope="session")
def linear():
    rows, labels = problem(0, 400, 3)
    return OPAUC().fit(rows, labels)


@pytest.fixture
def serve(tmp_path):
    """Return what serves a model: a client, which raises whatever the service does not handle."""

    @contextmanager
    def start(model, **options):
        path = tmp_path / "model.opauc"
        opauc.save(model, path)
        with TestClient(create_app(ServeSettings(str(path), **options))) as client:
            client.path = path
            yield client

    return start
