"""The command starts a service, which stops when it is asked to."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.serving import load

import opauc
from opauc.cli import main
from tests.serving.conftest import ROW

# A group of its own: a signal to it is none to the tests.
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}


@contextmanager
def running(path, *options):
    """Start a service; give its process and the address."""
    command = [sys.executable, "-m", "opauc", "serve", str(path), "--port", "0", "--json", *options]
    with subprocess.Popen(command, **PIPES, text=True) as process:
        try:
            line = process.stdout.readline()
            while line and json.loads(line)["event"] != "serving":  # kernels are compiled first
                line = process.stdout.readline()
            assert line, process.stderr.read()
            yield process, urlsplit(json.loads(line)["url"]).netloc
        finally:
            process.kill()


def post(address, path, content):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_process_answers_and_stops_gracefully(gam, tmp_path, stop):
    opauc.save(gam, tmp_path / "model.opauc")
    with running(tmp_path / "model.opauc", "--learn") as (process, address):
        status, answer = post(address, "/score", ROW)
        assert (status, answer["score"]) == (200, opauc.load(tmp_path / "model.opauc").scorer().score(ROW))
        status, learned = post(address, "/learn", [{"row": ROW, "label": "yes"}] * 3)
        assert (status, learned["rows_learned"]) == (200, 3)
        status, answer = post(address, "/score", ROW)
        process.send_signal(stop)
        assert process.wait(60) == 0
        assert json.loads(process.stdout.read())["event"] == "stopped"
        assert process.stderr.read() == ""
    assert opauc.load(tmp_path / "model.opauc").scorer().score(ROW) == pytest.approx(answer["score"], rel=1e-9)


def test_several_processes_share_an_address_and_stop_together(linear, tmp_path):
    opauc.save(linear, tmp_path / "model.opauc")
    with running(tmp_path / "model.opauc", "--workers", "2") as (process, address):
        assert all(post(address, "/score", [1.0, 2.0, 3.0])[0] == 200 for _ in range(20))
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
        assert process.wait(60) == 0
        assert process.stderr.read() == ""
    with pytest.raises(OSError):  # noqa: PT011
        post(address, "/score", [1.0, 2.0, 3.0])


def test_when_a_process_ends_all_do(linear, tmp_path):
    opauc.save(linear, tmp_path / "model.opauc")
    with running(tmp_path / "model.opauc", "--workers", "2") as (process, address):
        assert post(address, "/score", [1.0, 2.0, 3.0])[0] == 200
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [one for one in children if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]
        assert len(workers) == 2
        os.kill(int(workers[0]), signal.SIGKILL)
        assert process.wait(60) == 2
        assert "opauc: a process of the service ended by itself; the exit codes are " in process.stderr.read()


def test_a_request_that_has_begun_is_answered_before_the_end(gam, tmp_path):
    opauc.save(gam, tmp_path / "model.opauc")
    with running(tmp_path / "model.opauc") as (process, address):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/explain", json.dumps([ROW] * 1000), {"Content-Type": "application/json"})
        time.sleep(0.3)
        process.terminate()
        response = connection.getresponse()
        assert (response.status, len(json.loads(response.read()))) == (200, 1000)
        connection.close()
        assert process.wait(60) == 0


def test_the_load_test_measures_requests(linear, tmp_path):
    opauc.save(linear, tmp_path / "model.opauc")
    with running(tmp_path / "model.opauc") as (_, address):
        seconds = asyncio.run(load(f"http://{address}", b"[1.0, 2.0, 3.0]", connections=4, seconds=0.5))
    assert len(seconds) >= 4
    assert 0.0 < min(seconds) <= max(seconds) < 30.0


def test_an_address_in_use_is_one_line(linear, tmp_path):
    opauc.save(linear, tmp_path / "model.opauc")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "opauc", "serve", tmp_path / "model.opauc", "--port", port]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (2, f"opauc: --host 127.0.0.1 --port {port}: Address already in use\n")


def test_mistakes_are_one_line(linear, tmp_path, monkeypatch, capsys):
    def failed(*options):
        monkeypatch.setattr(sys, "argv", ["opauc", "serve", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        error = capsys.readouterr().err
        assert (ended.value.code, error.count("\n")) == (2, 1)
        return error

    path = tmp_path / "model.opauc"
    opauc.save(linear, path)
    assert "--host 1.2.3.4.5 --port 8000: " in failed(str(path), "--host", "1.2.3.4.5")
    assert failed(str(tmp_path / "none")).endswith("no such file\n")
    assert "--learn needs one process" in failed(str(path), "--learn", "--workers", "2")
    assert "--save-every 5 needs --learn" in failed(str(path), "--save-every", "5")
    path.write_bytes(b"no model")
    assert str(path) in failed(str(path))


def test_without_the_packages_the_extra_is_named():
    code = """
import sys
sys.modules["starlette"] = None
import opauc.serving.app
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "starlette is not installed; install opauc with its extra: opauc[serve]" in ran.stderr
