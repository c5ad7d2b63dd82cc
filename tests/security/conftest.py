import pytest

from tests.security.files import write_files


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One small file of every kind that the library writes."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder
