"""Spark started for a command, and ended with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from opauc.engines.installed import needed
from opauc.engines.scheduler import SECONDS_TO_ANSWER
from opauc.engines.spark_scheduler import SparkScheduler, reason_of
from opauc.errors import EngineError

with needed("pyspark", "spark"):
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

STANDALONE = "spark://"


@contextmanager
def spark_session(master: str | None, n_jobs: int) -> Iterator[SparkScheduler]:
    """Give a session: of a cluster by its address, else of `n_jobs` cores of this machine for as long as it lasts."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    refuse_silence(master)
    # With a second number tasks that fail are tried again on one machine too.
    settings = SparkConf().setAppName("opauc").setMaster(master or f"local[{n_jobs},4]")
    settings.set("spark.ui.showConsoleProgress", "false")
    with warnings.catch_warnings():
        # Which nothing here asks of it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        session = _started(settings)
        try:
            session.sparkContext.setLogLevel("OFF")
            yield SparkScheduler(session)
        finally:
            session.stop()


def _started(settings: SparkConf) -> SparkSession:
    """Return a session, refused in one line where there is none to be had."""
    try:
        SparkContext(conf=settings, gateway=_java())
        return SparkSession.builder.getOrCreate()
    except Exception as error:  # py4j and pyspark have one of their own for each thing that may be missing
        raise EngineError(f"Spark does not start ({reason_of(error)}); it needs Java 17 or later") from error


@cache
def _java() -> JavaGateway:
    """Return the one process of Java that this one may have; what it says on the way is nothing for a terminal."""
    return launch_gateway(popen_kwargs={"stderr": subprocess.DEVNULL})


def refuse_silence(master: str | None) -> None:
    """Raise where no master of a cluster answers, which Spark would try for a minute.

    >>> from opauc.engines.spark_session import refuse_silence
    >>> refuse_silence("local[2]")
    """
    if master is None or not master.startswith(STANDALONE):
        return
    refused: Exception | None = None
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
        except (OSError, ValueError) as error:
            refused = error
        else:
            return
    raise EngineError(f"{master}: no Spark master answers there ({refused})") from refused
