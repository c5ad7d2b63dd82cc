"""A local cluster for the tests of a file."""

import pytest


@pytest.fixture(scope="module")
def client():
    """Two worker processes of Dask."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**workers) as cluster, distributed.Client(cluster) as client:
        yield client
