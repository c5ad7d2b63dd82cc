import os
from pathlib import Path

import pytest

from tests.security.files import write_files


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One small file of every kind that the library writes; `make test` writes them once for all its runs."""
    if "OPAUC_FILES" in os.environ:
        return Path(os.environ["OPAUC_FILES"])
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder
