"""Files of an object store and of a web server give the model of local files; what breaks off is read again."""

import io
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import opauc
from opauc.data import remote
from opauc.data.find_sources import find_sources
from opauc.data.remote import RemoteFile, RetryPolicy, shown_url
from opauc.data.storage import file_size
from opauc.errors import InputChangedError, InputError
from tests.cli.commands import StopHereError, one_line, stop_after
from tests.cli.conftest import opauc as command  # noqa: F401
from tests.data.servers import dropping_proxy, object_store, web_server
from tests.laws.test_same_table import mixed_table

LABEL = "bought"
OPTIONS = {"trees": False, "random_state": 0, "init_size": 500}


@pytest.fixture(scope="module")
def frame():
    return mixed_table(2000)


@pytest.fixture(scope="module")
def files(frame):
    """Return the content of files of several formats, by their names."""
    table, contents = pa.Table.from_pandas(frame, preserve_index=False), {}
    for name, part in {"rows.parquet": table, "day=1/a.parquet": table[:900], "day=2/b.parquet": table[900:]}.items():
        parquet.write_table(part, buffer := io.BytesIO(), row_group_size=700)
        contents[name] = buffer.getvalue()
    frame.to_feather(buffer := io.BytesIO())
    contents["rows.feather"] = buffer.getvalue()
    contents["rows.csv"] = frame.to_csv(index=False).encode()
    frame.to_csv(buffer := io.BytesIO(), index=False, compression="gzip")
    contents["rows.csv.gz"] = buffer.getvalue()
    np.save(
        buffer := io.BytesIO(),
        frame[["age", "income", "rooms"]].fillna(0).assign(y=frame["paid"]).to_numpy(float).copy("C"),
    )
    contents["rows.npy"] = buffer.getvalue()
    return contents | {"_SUCCESS": b"", "day=3/_temporary": b"x"}


@pytest.fixture(scope="module")
def local(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def s3(files):
    with object_store() as store:
        for name, content in files.items():
            store.put(name, content)
        yield store


@pytest.fixture(scope="module")
def web(files):
    with web_server() as server:
        server.files.update(files)
        yield server


@pytest.fixture(autouse=True)
def _fresh_connections():
    remote._store.cache_clear()


@pytest.fixture
def _impatient(monkeypatch):
    policy = RetryPolicy(attempts=3, first_wait=0.01)
    monkeypatch.setattr(RemoteFile.__init__, "__defaults__", (policy,))


def bytes_of(model, folder):
    opauc.save(model, folder / "model.opauc")
    return (folder / "model.opauc").read_bytes()


@pytest.mark.parametrize(
    "name", ["rows.parquet", "rows.feather", "rows.csv", "rows.csv.gz", "day=*/", "day=?/*.parquet"]
)
@pytest.mark.usefixtures("s3")
def test_an_object_store_gives_the_model_file_of_local_files_to_the_bit(local, name, tmp_path):
    expected = bytes_of(opauc.train(f"{local}/{name}", LABEL, **OPTIONS), tmp_path)
    assert bytes_of(opauc.train(f"s3://shop/{name}", LABEL, **OPTIONS), tmp_path) == expected


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.csv"])
def test_a_web_server_and_a_file_url_give_it_too(web, local, name, tmp_path):
    expected = bytes_of(opauc.train(local / name, LABEL, **OPTIONS), tmp_path)
    for url in (f"{web.address}/{name}?key=secret", f"file://{local}/{name}"):
        assert bytes_of(opauc.train(url, LABEL, **OPTIONS), tmp_path) == expected


@pytest.mark.usefixtures("s3")
def test_arrays_are_read_from_urls(local):
    options = {"label": -1, "solver": "exact"}
    found, expected = (opauc.train(f"{where}/rows.npy", **options) for where in ("s3://shop", local))
    np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_shards_of_an_object_store_give_the_sums_of_local_ones(local, name, monkeypatch):
    monkeypatch.setattr("opauc.engines.shards.ShardPolicy.shard_bytes", lambda *_: 40_000)
    options = {**OPTIONS, "n_jobs": 2}
    found, expected = (opauc.train(f"{where}/{name}", LABEL, **options) for where in ("s3://shop", local))
    assert found._fitted.counts == expected._fitted.counts
    rows = mixed_table(50, seed=1).drop(columns=LABEL)
    np.testing.assert_array_equal(found.decision_function(rows), expected.decision_function(rows))


@pytest.mark.usefixtures("s3")
def test_folders_and_patterns_stand_for_the_files_that_they_do_on_this_machine(local, monkeypatch):
    monkeypatch.chdir(local)
    for pattern in (".", "day=*/", "day=*", "**/*.parquet", "*.csv", "day=[12]/?.parquet", "rows.csv"):
        here = [path.removeprefix("./") for path in find_sources([pattern])]
        there = find_sources([f"s3://shop/{pattern.removeprefix('.') if pattern == '.' else pattern}"])
        assert [url.removeprefix("s3://shop/") for url in there] == here, pattern
    assert file_size("s3://shop/rows.csv") == (local / "rows.csv").stat().st_size


def test_training_resumes_where_the_object_has_the_same_etag(s3, files, command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opauc.data.tables.BATCH_ROWS", 300)
    s3.put("again.parquet", files["rows.parquet"])
    words = ("train", "s3://shop/again.parquet", "--label", LABEL, "--no-trees", "--init-size", 500, "-q")
    words = (*words, "--checkpoint-every", 300)
    assert command(*words, "-o", "whole.opauc").code == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(StopHereError):
            command(*words, "-o", "model.opauc")
    assert command(*words, "-o", "model.opauc", "--resume").code == 0
    assert (tmp_path / "model.opauc").read_bytes() == (tmp_path / "whole.opauc").read_bytes()


def test_a_file_that_changes_while_it_is_read_is_refused(web, s3):
    web.files["new.csv"] = b"a,b\n"
    file = RemoteFile(f"{web.address}/new.csv")
    web.files["new.csv"] = b"c,d\n"
    with pytest.raises(InputChangedError, match=r"/new.csv: the file changed while it was read$"):
        file.read()
    s3.put("new.csv", b"a,b\n")
    file = RemoteFile("s3://shop/new.csv")
    s3.put("new.csv", b"c,d,e\n")
    file._handle = None  # as after a connection that dropped
    with pytest.raises(InputChangedError, match=r"^s3://shop/new.csv: the file changed while it was read$"):
        file.read()


@pytest.mark.usefixtures("_impatient")
def test_connections_that_drop_are_taken_up_where_they_broke_off(web, s3, files):
    web.requests.clear()
    web.faults[:] = [1000, 0]
    assert RemoteFile(f"{web.address}/rows.csv").read() == files["rows.csv"]
    assert not web.faults
    assert {asked for _, asked in web.requests} == {"bytes=0-0", f"bytes=0-{len(files['rows.csv']) - 1}"}
    before = os.environ["AWS_ENDPOINT_URL"]
    with dropping_proxy(s3.port, drops=2) as (port, left):
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        try:
            assert RemoteFile("s3://shop/rows.csv").read() == files["rows.csv"]
        finally:
            os.environ["AWS_ENDPOINT_URL"] = before
    assert left == [0]


@pytest.mark.usefixtures("_impatient")
def test_a_connection_that_keeps_dropping_is_one_line_and_leaves_no_model(web, command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    web.faults[:] = [1000] * 50
    for name in ("rows.csv", "rows.parquet"):
        message = one_line(command("train", f"{web.address}/{name}?key=secret", "--label", LABEL))
        assert message.startswith(f"{web.address}/{name}: cannot be read: IncompleteRead")
    web.faults.clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("s3", "_impatient")
def test_mistakes_are_one_line(web, monkeypatch):
    def message(url):
        with pytest.raises(InputError) as caught:
            opauc.train(url, LABEL)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert message("s3://shopp/rows.csv") == "s3://shopp/rows.csv: there is no bucket shopp"
    assert message("s3://shopp/*.csv") == "s3://shopp/*.csv: there is no bucket shopp"
    assert message("s3://shop/none.csv") == "s3://shop/none.csv: no such file"
    assert message("s3://shop/none-*.csv") == "s3://shop/none-*.csv: no such file"
    assert message("s3://shop/day=3/").startswith("s3://shop/day=3/: no data in this folder; looked for files ending")
    assert message(f"{web.address}/none.csv") == f"{web.address}/none.csv: no such file"
    assert message("nothing://x/rows.csv").startswith("nothing://: Protocol not known: nothing")
    web.ranges = False
    assert message(f"{web.address}/rows.csv").endswith("the server serves no ranges; download the file first")
    web.ranges, web.status = True, 403
    assert message(f"{web.address}/rows.csv") == f"{web.address}/rows.csv: access is denied"
    monkeypatch.setenv("AWS_ENDPOINT_URL", web.address)
    remote._store.cache_clear()
    hint = "credentials are looked for in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    assert message("s3://shop/rows.csv") == f"s3://shop/rows.csv: access is denied; {hint}"
    web.status = None
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    assert message("az://shop/rows.csv").endswith("looked for in AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY")


def test_secrets_of_urls_are_not_kept(web, tmp_path):
    url = f"{web.address}/rows.csv?key=secret"
    opauc.train(url, LABEL, output=tmp_path / "model.opauc", **OPTIONS)
    content = (tmp_path / "model.opauc").read_bytes()
    assert b"secret" not in content
    assert f"{web.address}/rows.csv".encode() in content
    assert shown_url("https://me:secret@host/a.csv?x#y") == "https://host/a.csv"


def test_other_stores_are_read_by_fsspec(files, local, tmp_path):
    import fsspec

    for name, content in files.items():
        with fsspec.open(f"memory://lake/{name}", "wb") as file:
            file.write(content)
    expected = bytes_of(opauc.train(f"{local}/day=*/", LABEL, **OPTIONS), tmp_path)
    assert bytes_of(opauc.train("memory://lake/day=*/", LABEL, **OPTIONS), tmp_path) == expected
