"""Public names, docstrings, help texts and messages use the words of the field, not those that were retired."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
import typer

import opauc
from opauc.cli.app import VERBS, build

SOURCES = Path(opauc.__file__).parent
PUBLIC = ["opauc", "opauc.baselines", "opauc.metrics", "opauc.engines"]

# Retired words as whole words in any case, with the words of the field.
RETIRED = {
    r"cards?(?<!credit card)(?<!credit cards)": "basis",
    r"rungs?": "candidate model",
    r"ladders?": "candidate models",
    r"guard(s|ed)?": "model selection; roll back",
    r"judge?ments?": "model selection",
    r"told": "message; on_progress; inferred",
    r"said": "message; stated",
    r"noted": "recorded",
    r"learnt": "trained; learned",
    r"learn(s|ing)? (the |its |these |those |more |new |all )?rows": "train on rows",
    r"rows (are |were |is )?learn(ed|t)": "training rows; rows processed",
    r"learn(ed|t) rows": "training rows",
    r"workshops?": "temporary directory",
    r"sealed": "checksummed",
    r"desks?": "workspace",
    r"contests?": "candidate race",
    r"rivals?": "competitors",
    r"remed(y|ies)": "hint",
    r"recipes?": "solver factory",
    r"owners?": "estimator name; group index",
    r"(un)?packed": "compressed; decompressed",
    r"thin": "sparse",
    r"faintest": "underflow floor",
    r"energy": "sum of squares",
    r"emptied": "empty_copy",
    r"anew": "again; fresh copy",
    r"as (it|they) comes?": "with default parameters; raw; unscaled",
    r"(scores?|costs?|bytes|products?|numbers?|seconds) a (line|row)": "per line; per row",
    r"occupanc(y|ies)": "bin counts",
    r"pulls?(?! request)": "working residual",
    r"hats?(?!\)? (basis|function))": "linear B-spline (hat) basis function",
    r"straight columns?": "linear term",
    r"finer levels?": "categories with random effects",
    r"(waiting|sampled|drawn) rows": "warm-up buffer; initial sample",
    r"bookmarks?": "resume position",
    r"chances": "probabilities",
    r"mass": "class-balanced sample weight",
    r"truths?( values?)?": "booleans",
    r"made[- ]up": "simulated",
    r"beside": "next to; in addition to",
    r"room to spare": "capacity",
    r"(a|the|this|these|those|of|as|for|and|or) words?": "string; category",
}
# British spellings; the package spells as scikit-learn does.
BRITISH = {
    r"cent(red|ring|re)s?": "centered, centering, center",
    r"\w+(al|ear|ard|im|ular|itial|in|et|ar)is(e|es|ed|ing|ation)": "-ize",
    r"(col|behavi|neighb|fav|hon)ours?(ing|ed)?": "-or",
    r"(label|model|total|travel|cancel)l(ed|ing)": "one l",
    r"(ana|cata|para)lys(e|ed|es|ing)": "-yze",
    r"catalogues?|grey|programmes?|whilst|amongst": "American spelling",
}
# Words that end as British ones do, and are not.
SPELLED_ALIKE = re.compile(
    r"(?i)\b(otherwise|noise|raise[sd]?|rise[sn]?|precise|promises?|premises?|advised?|revised?)\b"
)
PATTERNS = [
    (re.compile(rf"(?i)(?<![\w-])({pattern})(?!\w)"), better) for pattern, better in (RETIRED | BRITISH).items()
]


def retired_words(text):
    """Yield every retired word of a text with its replacement; underscores and capitals in names separate words."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    for pattern, better in PATTERNS:
        for match in pattern.finditer(text):
            if not SPELLED_ALIKE.fullmatch(match[0]):
                yield f"{' '.join(match[0].split())!r} (use: {better})"


def report(texts):
    """Return one line for each retired word in texts by their places."""
    lines = (f"{place}: {word}" for place, text in texts for word in retired_words(text or ""))
    return sorted(set(lines))


def public_texts():
    """Yield the names, parameters and docstrings that users meet."""
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        yield module_name, module.__doc__
        for name in module.__all__:
            try:
                public = getattr(module, name)
            except ImportError:  # an engine that is not installed
                continue
            yield from texts_of(f"{module_name}.{name}", name, public)
            if inspect.isclass(public):
                for member, value in inspect.getmembers(public):
                    of_package = getattr(inspect.unwrap(getattr(value, "fget", None) or value), "__module__", "") or ""
                    if not member.startswith("_") and of_package.startswith("opauc"):
                        yield from texts_of(f"{module_name}.{name}.{member}", member, value)


def texts_of(place, name, value):
    """Yield the name of an object, its docstring and its parameters."""
    yield place, name
    yield place, inspect.getdoc(value) if callable(value) or isinstance(value, property) else None
    if callable(value):
        try:
            parameters = inspect.signature(value).parameters
        except ValueError:  # exceptions have none
            return
        yield place, " ".join(parameters)


def help_texts():
    """Yield the options and the help of every verb of the command."""
    group = typer.main.get_command(build([]))
    yield "opauc", group.help
    for verb in VERBS:
        command = typer.main.get_command(build([verb])).commands[verb]
        yield f"opauc {verb}", command.help
        for parameter in command.params:
            place = f"opauc {verb} {parameter.name}"
            yield place, parameter.name
            yield place, getattr(parameter, "help", None)


def message_texts():
    """Yield the string literals of every exception that is raised, and of every warning."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            is_warning = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("warnings.warn", "Warning"))
            if isinstance(node, ast.Raise) or is_warning:
                place = f"{path.relative_to(SOURCES)}:{node.lineno}"
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield place, part.value


@pytest.mark.parametrize("texts", [public_texts, help_texts, message_texts], ids=["public", "help", "messages"])
def test_no_retired_word_is_shown_to_users(texts):
    lines = report(texts())
    assert not lines, "\n".join(["retired words", *lines])


@pytest.mark.parametrize(
    "text",
    ["discard the rows", "a pull request", "an otherwise precise noise", "credit card fraud", "cardinality", "guardian",
     "linear B-spline (hat) basis function", "a massive table", "unpacking", "raised", "promises", "a thing"],
)  # fmt: skip
def test_ordinary_words_are_no_alarm(text):
    assert not list(retired_words(text))


@pytest.mark.parametrize(
    "text",
    ["card_rows", "TheGuard", "rows learnt", "it is told so", "tables as they come", "linearised", "centred",
     "one score a line", "colour", "labelled", "packed files", "CandidateLadder"],
)  # fmt: skip
def test_retired_words_are_found_in_names_and_sentences(text):
    assert list(retired_words(text))
