"""Run the code of Markdown pages and compare what it prints with what the pages show.

A page is one program: its blocks share names and an empty folder. Blocks run by their language:

- `python`: executed; with `>>>` each example is compared with the output below it.
- `output`, right after a `python` block: what that block prints.
- `console`: lines that begin with `$ ` are commands, the lines below them what they print.

Printed numbers with a decimal point may differ by a hundredth of their size, numbers of seconds by anything, and `...`
stands for any text. HTML comments speak to this program: `<!-- setup: code -->` is executed unseen,
`<!-- not run: reason -->` leaves out the next block, and `<!-- needs: program -->` leaves it out where the machine has
no such program. `python -m tests.code_blocks PAGE` writes into a page what its code prints now.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from opauc.cli import main
from tests.cli.commands import without_notice

EXECUTED = ("python", "console", "output")
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w+-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)```\s*$"
    r"|<!--\s*(?P<kind>setup|not run|needs):(?P<note>.*?)-->",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(\d[\d,]*\.\d+(?:e[-+]?\d+)?|\.\d+)")
SECONDS = re.compile(r"\d[\d,.]*(?= (s|ms|seconds)\b)")
TOLERANCE = 0.01


class Block(NamedTuple):
    """A block of code or of output, the number of its first line, and where its text lies in the page."""

    language: str
    text: str
    line: int
    start: int
    end: int


class BlockError(AssertionError):
    """A block that failed, or printed something else."""


def blocks_of(page):
    """Return the blocks of a page that are executed or compared, and the number of those that say they are not."""
    text, blocks, skipped, skip = page.read_text(encoding="utf-8"), [], 0, False
    for match in FENCE.finditer(text):
        if match["kind"] == "not run":
            assert match["note"].strip(), f"{page}: a block is not run without a reason"
            skip = True
        elif match["kind"] == "needs":
            skip = shutil.which(match["note"].strip()) is None
        elif match["kind"] == "setup":
            blocks.append(Block("python", match["note"], text.count("\n", 0, match.start("note")) + 1, 0, 0))
        else:
            language = "python" if match["language"] == "pycon" else match["language"]
            if language in EXECUTED and not skip:
                code = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
                line = text.count("\n", 0, match.start("text")) + 1
                blocks.append(Block(language, code, line, match.start("text"), match.end("text")))
            skipped += skip
            skip = False
    return blocks, skipped


def run_page(page, folder):
    """Run the blocks of a page in a folder; return what each prints, in the form in which the page shows it."""
    names, printed, shown = {"__name__": "__main__"}, "", []
    blocks, _ = blocks_of(page)
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, environment):
        for block in blocks:
            where = f"{page.name}:{block.line}"
            if block.language == "output":
                shown.append((block, printed, where))
            elif block.language == "console":
                shown.append((block, _run_commands(block.text), where))
            elif ">>>" in block.text:
                shown.append((block, _run_examples(block, names, where), where))
            else:
                printed = _execute(block.text, names, where, block.line)
    return shown


def check_page(page, folder):
    """Raise `BlockError` where a block of the page fails or prints something else than the page shows."""
    for block, printed, where in run_page(page, folder):
        if not same_output(block.text, printed):
            raise BlockError(f"{where}: the page shows\n{block.text}\nand the code prints\n{printed}")


def update_page(page):
    """Write into a page what its code prints, where that differs."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for block, printed, _ in reversed(run_page(page.resolve(), folder)):
            if not same_output(block.text, printed, tolerance=0.0):
                text = text[: block.start] + printed + text[block.end :]
    page.write_text(text, encoding="utf-8")


def same_output(expected, printed, tolerance=TOLERANCE):
    """Tell whether two outputs are the same but for small differences of numbers, times, and what `...` stands for.

    >>> from tests.code_blocks import same_output
    >>> same_output("AUC 0.912 in 1.2 s", "AUC 0.909 in 20 s"), same_output("AUC 0.9, 3 rows", "AUC 0.8, 3 rows")
    (True, False)
    >>> same_output("a ... c", "a b c"), same_output("3 rows", "4 rows")
    (True, False)
    """
    expected, printed = (SECONDS.sub("0", " ".join(_without_seconds(text).split())) for text in (expected, printed))
    parts = [part for part in re.split(r"(\.\.\.|…)|" + NUMBER.pattern, expected) if part]
    pattern = "".join(
        ".*?" if part in ("...", "…") else f"({NUMBER.pattern[1:-1]})" if NUMBER.fullmatch(part) else re.escape(part)
        for part in parts
    )
    match = re.fullmatch(pattern, printed, re.DOTALL)
    if match is None:
        return False
    wanted = [_number(part) for part in parts if NUMBER.fullmatch(part)]
    got = [_number(group) for group in match.groups()]
    return all(abs(a - b) <= tolerance * max(abs(a), abs(b), 0.1) + 1e-12 for a, b in zip(wanted, got, strict=True))


def _without_seconds(text):
    """Return the text without the last column of tables whose last column is "seconds"."""
    lines, in_table = [], False
    for line in text.splitlines():
        in_table = line.split()[-1:] == ["seconds"] or (in_table and bool(line.strip()))
        lines.append(" ".join(line.split()[:-1]) if in_table else line)
    return "\n".join(lines)


def _number(text):
    return float(text.replace(",", ""))


def _execute(code, names, where, line):
    """Execute code and return what it prints."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, where, "exec"), names)
    except Exception as error:
        raise BlockError(f"{where}: {type(error).__name__}: {error}") from error
    return printed.getvalue()


def _run_examples(block, names, where):
    """Run the examples of a block; return the block with what they print."""
    lines = []
    for part in doctest.DocTestParser().parse(block.text):
        if isinstance(part, str):
            lines.append(part)
            continue
        prompts = part.source.rstrip("\n").split("\n")
        lines += [f"{'>>>' if number == 0 else '...'} {code}".rstrip() + "\n" for number, code in enumerate(prompts)]
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(part.source, f"{where}+{part.lineno}", "single"), names)
        except Exception as error:
            if part.exc_msg is None:
                raise BlockError(f"{where}: {part.source}{type(error).__name__}: {error}") from error
            printed.write(f"Traceback (most recent call last):\n    ...\n{_full_name(type(error))}: {error}\n")
        lines.append(printed.getvalue())
    return "".join(lines)


def _full_name(kind):
    """Return the name of an exception as a traceback shows it."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _run_commands(text):
    """Run the commands of a block; return the block with what they print."""
    lines = []
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)", text, re.MULTILINE):
        lines += [f"$ {command}\n", _print_of(command.replace("\\\n", " "))]
    return "".join(lines)


def _print_of(command):
    """Return what a command prints on both streams; `opauc` alone runs in this process, which is quicker."""
    if re.search(r"[|<>;&*$]", command) or not command.startswith("opauc "):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path}
        ran = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        return without_notice(ran.stdout)
    printed = io.StringIO()
    arguments = shlex.split(command)
    with (
        mock.patch.object(sys, "argv", arguments),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
    ):
        main()
    return without_notice(printed.getvalue())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update_page(Path(name))
