"""The allocator of Arrow keeps what it has for as long as the command runs."""

import os
import subprocess
import sys

import pytest

LOOK = """
import os, sys
from opauc.cli import main
assert "pyarrow" not in sys.modules, "its allocator looks at the environment when it is loaded"
sys.argv = ["opauc", "--version"]
try:
    main()
except SystemExit:
    print(os.environ["MIMALLOC_PURGE_DELAY"])
"""


@pytest.mark.parametrize(("given", "kept"), [({}, "-1"), ({"MIMALLOC_PURGE_DELAY": "7"}, "7")])
def test_the_command_says_so_before_arrow_is_loaded_unless_the_user_says_otherwise(given, kept):
    plain = {name: value for name, value in os.environ.items() if name != "MIMALLOC_PURGE_DELAY"}
    ran = subprocess.run([sys.executable, "-c", LOOK], env=plain | given, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == kept
