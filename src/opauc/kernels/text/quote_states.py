"""Whether comma-separated text stands within quotes, from the quotes in it alone."""

from opauc.kernels.compile_kernel import kernel

NEWLINE, RETURN, QUOTE = 10, 13, 34
# Outside of quotes; within them; within, with the second quote of a pair to come.
OUTSIDE, WITHIN, PAIRED = 0, 1, 2


@kernel
def state_after(text, places, delimiter, state):
    """Return the state at the end of `text`, whose first and last byte are its neighbours, from that at its beginning.

    `places` are those of the quotes between the neighbours. A quote at the
    start of a field opens it, two inside stand for one, any other closes it.
    """
    last = len(text) - 2
    passed = 1 if state == PAIRED else -1  # the place of a quote that belongs to the one before it
    within = state != OUTSIDE
    for place in places:
        if place == passed:
            continue
        if not within:
            before = text[place - 1]
            within = before == delimiter or before in (NEWLINE, RETURN)
        elif text[place + 1] == QUOTE:
            passed = place + 1
        else:
            within = False
    if within:
        return PAIRED if passed == last + 1 else WITHIN
    return OUTSIDE
