"""The part of the page about an additive model: what counts, a row explained, curves, pairs, the guard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from opauc.report.charts import size_bar
from opauc.report.term_charts import curve_chart, level_chart, n_levels, shown_levels, surface_chart, surface_key
from opauc.report.terms import CURVE, LEVELS, SURFACE, TREES, ExplainedRow, ShownTerm, TermsSection
from opauc.report.text import aligned, figure, lines, plain, safe, share, table_section, under
from opauc.report.waterfall_chart import waterfall_chart

MOST_IMPORTANCES, MOST_CHARTS, MOST_MAPS = 18, 8, 4
# Terms that the guard left out are not drawn.
NOTHING = 1e-9
KINDS = {CURVE: "curve", LEVELS: "levels", SURFACE: "pair", TREES: "trees"}


def additive_section(part: TermsSection) -> str:
    """Return the section; what there is nothing to show of is left out."""
    return (
        '<section class="charts effects" aria-label="Terms"><div class="wide"><h2>Terms</h2>'
        + under(
            "The score is the log-odds of the positive class: a baseline and the effects below, each zero in the mean. "
            "Bands and lines: ± 2 standard errors"
        )
        + f"</div>\n{lines(_blocks(part))}\n</section>"
    )


def _blocks(part: TermsSection) -> Iterable[str]:
    if part.effects:
        yield _importances(part)
    if part.explained:
        yield f'<div class="stack">{lines(_explained(number, row) for number, row in enumerate(part.explained))}</div>'
    drawn = [effect for effect in part.effects if effect.importance > NOTHING]
    singles = [effect for effect in drawn if effect.kind in (CURVE, LEVELS)][:MOST_CHARTS]
    for number, effect in enumerate(singles):
        yield _single(number, effect)
    pairs = [effect for effect in drawn if effect.kind == SURFACE][:MOST_MAPS]
    for number, effect in enumerate(pairs):
        yield _pair(number, effect)
    if part.guard:
        yield _guard(part)
    if part.watched:
        yield _shifts(part.shifted)


def _single(number: int, effect: ShownTerm) -> str:
    slug, importance = f"effect-{number}", _importance(effect)
    if effect.kind == CURVE:
        grey = "" if effect.rows is None else "; grey: where the rows are"
        return figure(_title(effect.name), f"{importance}{grey}", curve_chart(slug, effect), level=3)
    left_out = n_levels(effect) - len(shown_levels(effect))
    more = f", {plain(left_out)} more {'level' if left_out == 1 else 'levels'} not shown" if left_out else ""
    share_of_rows = "" if effect.rows is None else "; at the right: share of the rows"
    return figure(_title(effect.name), f"{importance}{share_of_rows}{more}", level_chart(slug, effect), level=3)


def _pair(number: int, effect: ShownTerm) -> str:
    usual = 2.0 * float(np.median(effect.error))
    note = f"{_importance(effect)}; what the two do beside their own effects, ± {usual:.2g} in the median cell"
    chart = surface_chart(f"pair-{number}", effect)
    return figure(_title(effect.name), note + surface_key(effect), chart, level=3)


def _importances(part: TermsSection) -> str:
    shown = part.effects[:MOST_IMPORTANCES]
    sizes = [effect.importance for effect in shown]
    body = "".join(
        f'<tr><th scope="row"><bdi>{safe(_feature(effect))}</bdi></th>'
        f'<td class="soft">{KINDS.get(effect.kind, "")}</td>'
        f'<td class="number">{size}</td><td>{size_bar(effect.importance, sizes[0])}</td></tr>'
        for effect, size in zip(shown, aligned(sizes, max(sizes), 3), strict=True)
    )
    head = '<tr><th scope="col">Effect</th><td></td><th scope="col" class="number">Importance</th><td></td></tr>'
    table = f'<table class="weights"><thead>{head}</thead><tbody>{body}</tbody></table>'
    note = f"{len(shown)} of {plain(part.n_effects)}, by importance: the standard deviation of the effect over the rows"
    if any(effect.kind == TREES for effect in shown):
        note += ". With others: what trees do by their splits on the feature"
    return table_section("Importances", note, table, level=3)


def _explained(number: int, row: ExplainedRow) -> str:
    return figure(_title(row.title), safe(row.note), waterfall_chart(f"row-{number}", row), level=3)


def _guard(part: TermsSection) -> str:
    body = "".join(
        f'<tr><th scope="row">{safe(rung.name)}</th><td class="number">{share(rung.auc)}</td>'
        f"<td>{'taken' if rung.taken else ''}</td></tr>"
        for rung in part.rungs
    )
    if not body:
        return f"<section><h3>Guard</h3>{under(safe(part.guard))}</section>"
    head = '<tr><th scope="col">Model</th><th scope="col" class="number">AUC</th><td></td></tr>'
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return table_section("Guard", safe(part.guard), table, level=3)


def _shifts(shifted: Sequence[tuple[str, float]]) -> str:
    if not shifted:
        note = "No feature: later rows look like the first ones, by which the curves were laid out"
        return f"<section><h3>Shifted features</h3>{under(note)}</section>"
    body = "".join(
        f'<tr><th scope="row"><bdi>{safe(name)}</bdi></th><td class="number">{index:.2f}</td></tr>'
        for name, index in shifted[:MOST_IMPORTANCES]
    )
    head = '<tr><th scope="col">Feature</th><th scope="col" class="number">Stability index</th></tr>'
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    note = (
        "Later rows do not look like the first ones; an index above 0.25 is much. Give the first rows in random order"
    )
    return table_section("Shifted features", note, table, level=3)


def _feature(effect: ShownTerm) -> str:
    """Return the name of an effect, without what its kind says."""
    return effect.inputs[0] if effect.kind == TREES else effect.name


def _title(name: str) -> str:
    return f"<bdi>{safe(name)}</bdi>"


def _importance(effect: ShownTerm) -> str:
    return f"Importance {effect.importance:.3g}"
