"""Exported C, compiled and run on rows."""

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from opauc.exports.c.names import c_bytes

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic", "-O1")
ESCAPES = ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r"))


@cache
def sanitizers():
    """Return the flags of the sanitizers that the compiler has."""
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    with TemporaryDirectory() as folder:
        program = Path(folder, "empty")
        command = ["cc", *flags, "-x", "c", "-", "-o", program]
        ran = subprocess.run(command, input=b"int main(void) { return 0; }\n", capture_output=True, check=False)
        works = ran.returncode == 0 and subprocess.run([program], check=False).returncode == 0
    return flags if works else ()


def build(code, folder, *flags):
    """Return the program of exported C, which reads lines."""
    (folder / "model.c").write_text(code, encoding="ascii")
    program = folder / "model"
    command = ["cc", *FLAGS, *sanitizers(), "-DOPAUC_MAIN", *flags, folder / "model.c", "-o", program, "-lm"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]
    return program


def field(value):
    if value is None:
        return b"\\N"
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    content = c_bytes(text)
    for character, escaped in ESCAPES:
        content = content.replace(character, escaped)
    return content


def run(program, rows, names):
    """Return the fields that the program prints for each row."""
    lines = b"".join(b"\t".join(field(row.get(name)) for name in names) + b"\n" for row in rows)
    ran = subprocess.run([program], input=lines, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()[:2000]
    return [line.split("\t") for line in ran.stdout.replace(b"\xc0\x80", b"\0").decode().split("\n")[:-1]]
