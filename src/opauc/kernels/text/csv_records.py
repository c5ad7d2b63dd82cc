"""Where the records of comma-separated text begin, how many fields they have and on which lines they stand."""

from opauc.kernels.compile_kernel import kernel

NEWLINE, RETURN, QUOTE = 10, 13, 34


@kernel
def find_records(text, delimiter, marks, starts, lines, fields):
    """Write each record's first byte, lines before it and number of fields; return records, lines and the open one.

    A quote at the start of a field opens it, two inside stand for one, and what
    follows the closing one belongs to the field. \\n, \\r and \\r\\n end a line;
    empty lines hold no record. The last number is the line on which a field
    still open at the end began, or -1. `marks` (256,) is true for the bytes
    that may end a field.
    """
    n_records, line, opened = 0, 0, -1
    within, at_start, in_record = False, True, False
    size = len(text)
    i = 0
    while i < size:
        byte = text[i]
        ends = byte == NEWLINE or (byte == RETURN and not (i + 1 < size and text[i + 1] == NEWLINE))
        if within:
            if byte == QUOTE:
                if i + 1 < size and text[i + 1] == QUOTE:
                    i += 1
                else:
                    within = False
            elif ends:
                line += 1
        elif byte in (NEWLINE, RETURN):
            if ends:
                line += 1
            at_start, in_record = True, False
        else:
            if not in_record:
                starts[n_records], lines[n_records], fields[n_records] = i, line, 1
                n_records += 1
                in_record = True
            if byte == delimiter:
                fields[n_records - 1] += 1
                at_start = True
            elif byte == QUOTE and at_start:
                within, at_start, opened = True, False, line
            else:
                at_start = False
        i += 1
        if not at_start:  # inside a field other bytes than these change nothing
            while i < size and not marks[text[i]]:
                i += 1
    if size and text[size - 1] != NEWLINE and text[size - 1] != RETURN:
        line += 1
    return n_records, line, opened if within else -1
