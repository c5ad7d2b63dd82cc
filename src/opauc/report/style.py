"""The style sheet of the report page: light and dark themes, narrow screens, print."""

from __future__ import annotations

# Blue and orange differ for every type of color blindness; text and class colors have a contrast of at least 4.5.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#586069",
    "line": "#c9d0d8",
    "grid": "#eceff2",
    "negative": "#0a5ea8",
    "positive": "#b04a00",
}
DARK = {
    "paper": "#14181d",
    "ink": "#e6e9ed",
    "soft": "#9aa5b1",
    "line": "#3a434d",
    "grid": "#232a31",
    "negative": "#6fb6ff",
    "positive": "#ffac5f",
}

# A chart by itself.
CHART_RULES = """
.chart{display:block;width:100%;height:auto;margin-top:auto;overflow:visible}
.chart text{font-size:13px;fill:var(--soft)}
.chart .name{fill:var(--ink)}
.chart path{fill:none}
.chart .grid{stroke:var(--grid)}
.chart .axis{stroke:var(--line)}
.chart .guide{stroke:var(--soft);stroke-dasharray:4 4}
.chart .curve{stroke:var(--negative);stroke-width:2;stroke-linejoin:round}
.chart .area{fill:var(--negative);fill-opacity:.08}
.chart .dot{fill:var(--paper);stroke:var(--negative);stroke-width:2}
.chart .error-bar{stroke:var(--negative);stroke-width:1.5}
.chart .bars{stroke-width:2;fill-opacity:.12;stroke-linejoin:round}
.chart .negative{stroke:var(--negative);fill:var(--negative);stroke-dasharray:5 3}
.chart .positive{stroke:var(--positive);fill:var(--positive)}
.chart .rise{stroke:var(--positive);stroke-width:2;stroke-linejoin:round}
.chart .fall{stroke:var(--negative);stroke-width:2;stroke-dasharray:5 3;stroke-linejoin:round}
.chart .rows{fill:var(--soft);fill-opacity:.28}
.chart .band{fill-opacity:.16}
.chart .up,.legend .up{fill:var(--positive)}
.chart .down,.legend .down{fill:var(--negative)}
.chart .whisker{stroke:var(--ink);stroke-width:1.5}
.chart .sum{font-weight:650}
.chart .leader{stroke:var(--soft);stroke-width:.75}
.chart .chosen,.chart .one-se{fill:var(--negative);stroke:var(--paper);stroke-width:1.5}
.chart .one-se{fill:var(--positive)}
"""
# The page around the charts; rules for narrow screens and print come last.
RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
  font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
  font-variant-numeric:tabular-nums}
main{max-width:60rem;margin:0 auto;padding:2.5rem 1.5rem 4rem}
h1{font-size:1.5rem;line-height:1.25;margin:0;font-weight:650;overflow-wrap:anywhere}
h2{font-size:1.0625rem;line-height:1.3;margin:0;font-weight:650}
h3{font-size:1rem;line-height:1.3;margin:0;font-weight:600;overflow-wrap:anywhere}
p{margin:0}
.soft,.under{color:var(--soft)}
.under{font-size:.875rem;margin-top:.25rem;overflow-wrap:anywhere}
header{border-bottom:1px solid var(--line);padding-bottom:1.25rem}
.summary{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,6fr);gap:1.5rem 3rem;align-items:center;
  padding:2rem 0 1.5rem}
.auc{font-size:clamp(3.25rem,11vw,4.75rem);font-weight:650;line-height:1;letter-spacing:-.03em}
.interval{margin-top:.75rem}
.whole{white-space:nowrap}
.facts{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:1.25rem 1.5rem;margin:0}
.facts dt{font-size:.875rem;color:var(--soft)}
.facts dd{margin:0;font-size:1.125rem;overflow-wrap:anywhere}
.facts small{display:block;font-size:.875rem;color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:2.75rem 3rem;
  padding-top:1.5rem}
.charts>*{min-width:0;margin:0}
figure{display:flex;flex-direction:column}
figcaption{padding-bottom:.75rem}
.terms{border-top:1px solid var(--line);margin-top:2.75rem}
.terms .wide{grid-column:1/-1;margin-bottom:-1.25rem}
.terms .chart{margin-top:0}
.stack>*{margin:0}
.stack>*+*{margin-top:2rem}
.legend{display:flex;align-items:center;gap:.625rem;padding-top:.375rem}
.legend svg{height:.75rem;width:12.375rem;min-width:0}
.names{columns:11rem 2;column-gap:2rem;margin:.25rem 0 0;padding-left:1.5rem;font-size:.875rem;color:var(--soft)}
.names li{overflow-wrap:anywhere;break-inside:avoid}
.names li::before{content:"";display:inline-block;width:1.25rem;margin-right:.5rem;vertical-align:.25em;
  border-top:2px solid var(--positive)}
.names .fall::before{border-top:2px dashed var(--negative)}
.key{display:flex;flex-wrap:wrap;gap:.125rem 1.25rem}
.key span::before{content:"";display:inline-block;width:1.5rem;margin-right:.5rem;vertical-align:.25em;
  border-top:2px dashed var(--negative)}
.dots span::before{width:.6875rem;height:.6875rem;border:0;border-radius:50%;background:var(--negative);
  vertical-align:-.0625em}
.dots .one-se::before{background:var(--positive)}
.key .positive::before{border-top:2px solid var(--positive)}
.tables{columns:22rem 2;column-gap:3rem;padding-top:2.75rem}
.tables>*{break-inside:avoid;padding-bottom:2.25rem}
.scroll{overflow-x:auto;margin-top:.75rem}
.scroll:focus-visible{outline:2px solid var(--negative);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{padding:.375rem .75rem .375rem 0;text-align:left;vertical-align:baseline;border-top:1px solid var(--grid);
  font-weight:400}
tr>:last-child{padding-right:0}
thead td{border-top:0}
thead th{color:var(--soft);font-size:.875rem;border-top:0;vertical-align:bottom}
tbody th{overflow-wrap:anywhere;min-width:7rem}
.pairs th{color:var(--soft);width:40%}
.pairs td{overflow-wrap:anywhere}
.number,.times td{text-align:right;white-space:nowrap}
.bar{display:block;width:100%;min-width:4.5rem;height:.625rem}
.bar .guide{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.bar .positive{fill:var(--positive)}
.bar .negative{fill:var(--negative)}
.weights td:last-child{width:22%}
.groups{padding-top:2.75rem}
footer{border-top:1px solid var(--line);padding-top:1.25rem;font-size:.875rem;color:var(--soft)}
@media (max-width:40rem){
  main{padding:1.5rem 1rem 3rem}
  .summary{grid-template-columns:minmax(0,1fr);padding:1.5rem 0 1rem}
  .facts{grid-template-columns:repeat(2,minmax(0,1fr))}
  .charts{padding-top:1.25rem}
  .chart text{font-size:15px}
  tbody th{min-width:4.5rem}
  th,td{padding-right:.5rem}
  .bar{min-width:2.5rem}
  .weights td:last-child{width:20%}
}
@media print{
  @page{margin:12mm}
  html,body{font-size:11px}
  main{max-width:none;padding:0}
  header{padding-bottom:.5rem}
  .summary{grid-template-columns:minmax(0,5fr) minmax(0,6fr);gap:1rem 2rem;padding:1rem 0 .5rem}
  .auc{font-size:3.25rem}
  .interval{margin-top:.25rem}
  .facts{grid-template-columns:repeat(3,minmax(0,1fr));gap:.5rem 1rem}
  .charts{grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem 2.5rem;padding-top:.5rem}
  .chart{width:90%;margin-left:0}
  figcaption{padding-bottom:.25rem}
  .tables{columns:2;column-gap:2.5rem;padding-top:.75rem}
  .tables>*{padding-bottom:.75rem}
  table{font-size:.875rem;line-height:1.35}
  th,td{padding-top:.125rem;padding-bottom:.125rem}
  figure,tr,.charts>section,footer{break-inside:avoid}
  h2,h3{break-after:avoid}
  .terms{margin-top:1rem}
  .terms .wide{margin-bottom:0}
  .scroll{overflow:visible;margin-top:.375rem}
  footer{padding-top:.5rem}
}
"""


def style_sheet() -> str:
    """Return the style sheet of the page: light in print and by default, dark if the browser prefers it."""
    return chart_style() + RULES


def chart_style() -> str:
    """Return the style sheet of a chart by itself, in the same colors."""
    dark = f"@media screen and (prefers-color-scheme:dark){{{_colors(DARK)}}}"
    return f":root{{color-scheme:light dark}}{_colors(LIGHT)}{dark}{CHART_RULES}"


def _colors(theme: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{color}" for name, color in theme.items()) + "}"
