"""Text from files as a person may safely see it."""

from __future__ import annotations

import re

# What moves the cursor, colors, hides or turns round what a terminal shows: control characters, marks of the direction
# of writing, ends of line and of paragraph, halves of characters.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LONGEST = 400


def shown_text(text: object) -> str:
    """Return text in which every character that a terminal would act on is written out.

    Examples
    --------
    >>> from opauc.cli.shown_text import shown_text
    >>> shown_text("Zürich\\x1b[2J")
    'Zürich\\\\x1b[2J'
    """
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def shortened(text: object, longest: int = LONGEST) -> str:
    """Return the text up to a length, and how long it is where there is more.

    Examples
    --------
    >>> from opauc.cli.shown_text import shortened
    >>> shortened("feature", longest=4)
    'feat… (7 characters)'
    """
    whole = str(text)
    return whole if len(whole) <= longest else f"{whole[:longest]}… ({len(whole):,} characters)"
