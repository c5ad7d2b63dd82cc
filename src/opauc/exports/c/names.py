"""Names and text in C."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Keywords of C and C++, and what headers define in small letters.
KEYWORDS = (
    "alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char class compl complex concept "
    "const consteval constexpr constinit const_cast continue decltype default delete do double dynamic_cast else enum "
    "errno explicit export extern false float for friend goto i386 if imaginary inline int linux long mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "requires restrict return short signed sizeof static static_assert static_cast stderr stdin stdout struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unix unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
)
RESERVED = frozenset(KEYWORDS.split())
# Compilers need not take longer identifiers, nor string literals of more bytes.
MAX_NAME, MAX_LITERAL = 48, 4000
# Without \ and ", and without ?, two of which begin a trigraph.
PLAIN = re.compile(r"[ !#->@-\[\]-~]")
COMMENT = re.compile(r"[^A-Za-z0-9 _.,:;()+=%-]")


def identifiers(names: Iterable[str]) -> list[str]:
    """Return an identifier for each name, in small letters and all different.

    >>> from opauc.exports.c.names import identifiers
    >>> identifiers(["Größe (cm)", "int", "2nd", "a b", "a_b", "€", "__x"])
    ['gro_e_cm', 'int_', 'c_2nd', 'a_b', 'a_b_2', 'c', 'x']
    """
    found: dict[str, None] = {}
    for name in names:
        letters = "".join(
            character for character in unicodedata.normalize("NFKD", name) if not unicodedata.combining(character)
        )
        slug = re.sub("[^a-z0-9]+", "_", letters.lower()).strip("_")[:MAX_NAME]
        if not slug or slug[0].isdigit():
            slug = f"c_{slug}".rstrip("_")
        if slug in RESERVED:
            slug += "_"
        unique, number = slug, 2
        while unique in found:
            unique, number = f"{slug}_{number}", number + 1
        found[unique] = None
    return list(found)


def c_bytes(text: str) -> bytes:
    r"""Return the UTF-8 bytes of text, a NUL as two bytes that no other character has: strings of C end at a NUL.

    >>> from opauc.exports.c.names import c_bytes
    >>> c_bytes("a\0ü")
    b'a\xc0\x80\xc3\xbc'
    """
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def c_string(text: str) -> str:
    r"""Return text as an expression of C: a string literal, or an array where a literal would be too long.

    >>> from opauc.exports.c.names import c_string
    >>> print(c_string('say "?"'), c_string("ü"), c_string("/*"))
    "say \042\077\042" "\303\274" "/*"
    """
    content = c_bytes(text)
    if len(content) > MAX_LITERAL:
        return f"(const char[]){{{','.join(str(byte - 256 if byte > 127 else byte) for byte in content)},0}}"
    plain = "".join(chr(byte) if byte < 128 and PLAIN.fullmatch(chr(byte)) else f"\\{byte:03o}" for byte in content)
    return f'"{plain}"'


def c_comment(text: str) -> str:
    """Return text that may stand in a comment.

    >>> from opauc.exports.c.names import c_comment
    >>> print(c_comment("a*/b, ü"))
    a<2a><2f>b, <fc>
    """
    return COMMENT.sub(lambda match: f"<{ord(match[0]):x}>", text)
