"""A model as one file of C99: tables of constants, and the code that scores rows with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import TypeVar

from opauc.exports.c.data import array, axes_data, crossed_data, number, table_data, term_data, tree_data
from opauc.exports.c.names import c_bytes, c_comment, c_string, identifiers
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.merge_terms import check_centered, merge_terms
from opauc.exports.portable import CATEGORY, DATE, NUMBER, PortableModel
from opauc.exports.portable_classes import PortableClasses
from opauc.version import __version__

Item = TypeVar("Item")
KINDS = {NUMBER: "NUMBER", CATEGORY: "CATEGORY", DATE: "DATE"}
PARTS = {"": "WHOLE", "day": "DAY", "month": "MONTH", "weekday": "WEEKDAY", "hour": "HOUR"}
# The code, in the order in which C needs it.
PARTS_OF_CODE = ("numbers.c", "dates.c", "score.c", "two.c", "main.c")
PARTS_OF_CLASSES = ("numbers.c", "dates.c", "score.c", "classes.c", "main.c")
# The number of text that marks a missing value; categories have those from -1.
MISSING_TEXT = -2.0
FIELDS = {
    NUMBER: ("double ", "a number, NAN where missing"),
    CATEGORY: ("const char *", "a category in UTF-8, NULL where missing"),
    DATE: ("double ", "a date as days since 1970 (opauc_days), NAN where missing"),
}
DECLARATIONS = """\
typedef struct {{
{fields}
}} opauc_row;

#ifdef __cplusplus
extern "C" {{
#endif

/* The names of the columns in UTF-8, in the order of opauc_set, and of the labels from 0. */
extern const char *const opauc_columns[OPAUC_N_COLUMNS];
extern const char *const opauc_labels[OPAUC_N_CLASSES];

/* Set every value to missing. */
void opauc_clear(opauc_row *row);

/* Set the value of a column from text as CSV files have it, NULL where missing; a category keeps the pointer. */
int opauc_set(opauc_row *row, int column, const char *text);

/* Days since 1970 of a local time. */
double opauc_days(int year, int month, int day, int hour, int minute, double second);

{functions}"""
FUNCTIONS = """\
/* The score, the probability of label 1, the label 0 or 1. Each function returns 0, or 1 + the position of a column
   whose value the model does not take; then it writes nothing. */
int opauc_score(const opauc_row *row, double *score);
int opauc_probability(const opauc_row *row, double *probability);
int opauc_label(const opauc_row *row, int *label);
"""
FUNCTIONS_OF_CLASSES = """\
/* The scores and the probabilities of the labels, the number of a label. Each function returns 0, or 1 + the position
   of a column whose value the model does not take; then it writes nothing. */
int opauc_scores(const opauc_row *row, double scores[OPAUC_N_CLASSES]);
int opauc_probabilities(const opauc_row *row, double probabilities[OPAUC_N_CLASSES]);
int opauc_label(const opauc_row *row, int *label);
"""
REASONS = """
/* The terms that lower (or raise) the score most against the mean of the training rows, the strongest first. */
enum { OPAUC_LOWER, OPAUC_RAISE };
typedef struct {
    const char *name;
    double difference; /* in log-odds */
} opauc_reason;
int opauc_reasons(const opauc_row *row, int direction, opauc_reason reasons[OPAUC_N_REASONS], int *n);
"""
TYPES = """\
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPAUC_NO_COLUMN = -1 };
enum { NUMBER, CATEGORY, DATE };
enum { WHOLE, DAY, MONTH, WEEKDAY, HOUR };
enum { LINE, CURVE, STEPS, LEVELS };

typedef struct { const char *text; double number; } listed_text;
typedef struct {
    int kind, is_required, is_strict, n_texts, n_layouts;
    const char *format; /* of numbers: the decimal separator and the unit */
    const listed_text *texts; /* sorted: categories, and what marks missing values */
    const char *const *layouts;
} opauc_column;
typedef struct { double number; const char *text; } cell;
typedef struct { int kind, input, n, first, first_place, other; } axis;
typedef struct { const char *name; double constant, mean; } term;
typedef struct { int term, axis, second_axis, first, width; } table;
typedef struct { int input, n, first; } member;
typedef struct { int term, n_members, first_member, shift, n, first; } crossed;
typedef struct { int axis, term, place; } split;
"""


def c_code(model: PortableModel, reasons: int = 0) -> str:
    """Return a model as C99 that needs nothing but the standard library.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.c.code import c_code
    >>> from opauc.exports.make_portable import make_portable
    >>> code = c_code(make_portable(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])._to_model()))
    >>> print(code[:29])
    /* A model of opauc for OPAUC
    """
    check_centered(model, reasons)
    scored = model if reasons else merge_terms(model)
    numbers = {
        "BASELINE": model.baseline if reasons else 0.0, "SLOPE": model.slope, "OFFSET": model.offset,
        "THRESHOLD": model.threshold,
    }  # fmt: skip
    functions = FUNCTIONS + (REASONS if reasons else "")
    return _code(scored, numbers, model.labels, functions, PARTS_OF_CODE, reasons)


def classes_c_code(model: PortableClasses) -> str:
    """Return a model of several classes as C99 that needs nothing but the standard library.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.c.code import classes_c_code
    >>> from opauc.exports.make_portable import make_portable_classes
    >>> code = classes_c_code(make_portable_classes(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])._to_model()))
    >>> print(code[:29])
    /* A model of opauc for OPAUC
    """
    link = model.link
    numbers = {"POWER": link.power, "REST_POWER": link.rest_power}
    further = [
        f"enum {{ SCORES_ARE_ODDS = {int(link.scores_are_odds)} }};",
        array("double", "log_shares", (number(one) for one in link.log_shares)),
    ]
    return _code(model.joined(), numbers, model.labels, FUNCTIONS_OF_CLASSES, PARTS_OF_CLASSES, further=further)


def _code(
    model: PortableModel,
    numbers: Mapping[str, float],
    labels: Sequence[bool | int | float | str],
    functions: str,
    parts: Sequence[str],
    reasons: int = 0,
    further: Sequence[str] = (),
) -> str:
    """Return the declarations, the constants and the code of a model."""
    code = [files("opauc.exports.c").joinpath(name).read_text(encoding="ascii") for name in parts]
    return "\n".join([
        _declarations(model, len(labels), functions, reasons), "#ifndef OPAUC_DECLARATIONS", TYPES,
        *_data(model, numbers, labels), *further, *code, "#endif\n",
    ])  # fmt: skip


def _declarations(model: PortableModel, n_classes: int, functions: str, reasons: int) -> str:
    """Return what a program includes: the row and the functions."""
    fields = "\n".join(
        f"    {FIELDS[column.kind][0]}{field}; /* {c_comment(column.name)}: {FIELDS[column.kind][1]} */"
        for field, column in zip(_fields(model), model.columns, strict=True)
    )
    return (
        f"/* A model of opauc for {model.estimator}, written by opauc {__version__}: C99, to be linked with -lm.\n"
        "   A file that only calls it includes it too, after #define OPAUC_DECLARATIONS.\n"
        "   With -DOPAUC_MAIN it is a program that scores lines of standard input (see main). */\n\n"
        "#ifndef OPAUC_MODEL\n#define OPAUC_MODEL\n\n"
        f"#define OPAUC_N_COLUMNS {len(model.columns)}\n#define OPAUC_N_CLASSES {n_classes}\n"
        f"#define OPAUC_N_REASONS {reasons}\n\n"
        + DECLARATIONS.format(fields=fields, functions=functions)
        + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def _fields(model: PortableModel) -> list[str]:
    return identifiers(column.name for column in model.columns)


def _data(model: PortableModel, numbers: Mapping[str, float], labels: Sequence[bool | int | float | str]) -> list[str]:
    """Return the constants of a model."""
    trees = [] if model.trees is None else model.trees.roots.tolist()
    counts = {
        "N_INPUTS": len(model.inputs),
        "N_AXES": len(model.axes),
        "N_TERMS": len(model.terms),
        "N_TABLES": sum(len(one.tables) for one in model.terms),
        "N_CROSSED": sum(len(one.crossed) for one in model.terms),
        "N_TREES": len(trees),
        "N_SPLITS": 0 if model.trees is None else model.trees.n_splits,
    }
    return [
        f"enum {{ {', '.join(f'{name} = {count}' for name, count in counts.items())} }};",
        "\n".join(f"static const double {name} = {number(value)};" for name, value in numbers.items()),
        *_columns(model, labels),
        array("int", "input_columns", (one.column for one in model.inputs)),
        array("int", "input_parts", (PARTS[one.part] for one in model.inputs)),
        *axes_data(model.axes),
        term_data(model.terms),
        *table_data(model.terms),
        *crossed_data(model.terms),
        *tree_data(model.trees),
        *_access(model),
    ]  # fmt: skip


def _columns(model: PortableModel, labels: Sequence[bool | int | float | str]) -> Iterable[str]:
    """Yield how the values of columns are read; columns that list the same texts share them."""
    listed = [
        tuple({**column.categories, **dict.fromkeys(column.missing, MISSING_TEXT)}.items()) for column in model.columns
    ]
    layouts = [tuple(column.text_format.split(" or ")) if column.kind == DATE else () for column in model.columns]
    first_text, first_layout = _places(listed), _places(layouts)
    yield array("char *const", "opauc_columns", (c_string(column.name) for column in model.columns), is_public=True)
    yield array("char *const", "opauc_labels", (c_string(_label(one)) for one in labels), is_public=True)
    yield array("listed_text", "texts", (
        f"{{{c_string(text)}, {number(value)}}}"
        for own in first_text for text, value in sorted(own, key=lambda pair: c_bytes(pair[0]))
    ))  # fmt: skip
    yield array("char *const", "layouts", (c_string(one) for own in first_layout for one in own))
    yield array("opauc_column", "columns", (
        f"{{{KINDS[column.kind]}, {int(column.is_required)}, {int(column.is_strict)}, {len(listed[at])}, "
        f"{len(layouts[at])}, {c_string(column.text_format if column.kind == NUMBER else '')}, "
        f"texts + {first_text[listed[at]]}, layouts + {first_layout[layouts[at]]}}}"
        for at, column in enumerate(model.columns)
    ))  # fmt: skip


def _places(lists: Sequence[tuple[Item, ...]]) -> dict[tuple[Item, ...], int]:
    """Return where each different list begins if they follow one another."""
    different = list(dict.fromkeys(lists))
    return dict(zip(different, accumulate(map(len, different), initial=0), strict=False))


def _label(label: bool | int | float | str) -> str:
    return label if isinstance(label, str) else repr(label)


def _access(model: PortableModel) -> Sequence[str]:
    """Return the functions that know the fields of a row."""
    kinds = [(field, column.kind == CATEGORY) for field, column in zip(_fields(model), model.columns, strict=True)]
    clear = [f"    row->{field} = {'NULL' if is_text else 'NAN'};" for field, is_text in kinds]
    write = [
        f"    case {at}: row->{field} = {'text' if is_text else 'number'}; break;"
        for at, (field, is_text) in enumerate(kinds)
    ]
    read = [
        f"    cells[{at}].{'text' if is_text else 'number'} = row->{field};"
        for at, (field, is_text) in enumerate(kinds)
    ]
    empty = [
        f"    cells[{at}].{'number = 0.0' if is_text else 'text = NULL'};" for at, (_, is_text) in enumerate(kinds)
    ]
    return (
        "\n".join(["void opauc_clear(opauc_row *row)", "{", *clear, "}"]),
        "\n".join([
            "static void set_value(opauc_row *row, int column, double number, const char *text)", "{",
            "    (void)number;", "    (void)text;",
            "    switch (column) {", *write, "    default: break;", "    }", "}",
        ]),
        "\n".join(["static void get_values(const opauc_row *row, cell cells[])", "{", *read, *empty, "}\n"]),
    )  # fmt: skip


def write_c(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of a C file of a model."""
    return c_code(model, options.reasons).encode("ascii")


def write_classes_c(model: PortableClasses, _options: ExportOptions) -> bytes:
    """Return the content of a C file of a model of several classes."""
    return classes_c_code(model).encode("ascii")


C = ExportFormat("c", (".c",), write_c, ("reasons",), write_classes=write_classes_c)
