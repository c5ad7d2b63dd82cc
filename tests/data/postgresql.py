"""A private cluster of PostgreSQL in a temporary folder, under a user without rights, reached by a socket."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def programs():
    """Return the folder of the programs of the newest PostgreSQL, None where there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    return folders[-1] if folders else None if on_path is None else Path(on_path).resolve().parent


@contextmanager
def cluster():
    """Start a cluster, which takes a second, and give the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    folder.chmod(0o777)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def run(name, *arguments):
        command = [programs() / name, "-D", folder / "data", *arguments]
        # Its output is no pipe: the server would hold it open.
        with (folder / f"{name}.log").open("w") as log:
            subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log, timeout=60, **user)

    try:
        run("initdb", "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c autovacuum=off -c shared_buffers=16MB"
        run("pg_ctl", "-w", "-o", options, "-l", folder / "server.log", "start")
        try:
            yield f"postgresql://tester:secret@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
