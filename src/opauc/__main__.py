"""`python -m opauc` is the command `opauc`."""

from opauc.cli import main

main()
