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
    "alarm": "#b3141f",
}
DARK = {
    "paper": "#14181d",
    "ink": "#e6e9ed",
    "soft": "#9aa5b1",
    "line": "#3a434d",
    "grid": "#232a31",
    "negative": "#6fb6ff",
    "positive": "#ffac5f",
    "alarm": "#ff8a84",
}

# Shades of a cell of the table of pairs, from none to the darkest.
N_SHADES = 6
DARKEST = 40  # percent of the color; the text keeps a contrast of 4.5

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
h3,h4{font-size:1rem;line-height:1.3;margin:0;font-weight:600;overflow-wrap:anywhere}
p{margin:0}
.soft,.under{color:var(--soft)}
.under{font-size:.875rem;margin-top:.25rem;overflow-wrap:anywhere}
header{border-bottom:1px solid var(--line);padding-bottom:1.25rem}
.alarm{margin-top:1.25rem;padding:.75rem 1rem;border:2px solid var(--alarm);border-radius:.375rem;
  color:var(--alarm);overflow-wrap:anywhere}
.short{margin-top:1.25rem;max-width:46rem}
.contents{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin-top:.75rem;font-size:.875rem}
.contents a{color:var(--negative);text-underline-offset:.2em}
.provenance{border-top:1px solid var(--line);padding:1.25rem 0}
.provenance summary h2{display:inline}
.provenance table{margin-top:.75rem}
.hash{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.8125rem;overflow-wrap:anywhere;
  min-width:11rem}
#thresholds tbody th{min-width:14rem}
th.heading{white-space:normal;min-width:4.75rem}
#groups th.heading{min-width:0}
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
.bar{display:inline-block;vertical-align:baseline;width:100%;min-width:4.5rem;height:.625rem}
.bar .guide{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.bar .positive{fill:var(--positive)}
.bar .negative{fill:var(--negative)}
.weights td:last-child{width:22%}
.bar .own{fill:var(--negative)}
.bar .pairs{fill:var(--positive)}
.bar .trees{fill:var(--soft)}
.parts span::before{width:.6875rem;height:.6875rem;border:0;background:var(--negative);vertical-align:-.0625em}
.parts .pairs::before{background:var(--positive)}
.parts .trees::before{background:var(--soft)}
.importances td:last-child{width:36%}
.parts{padding-top:.25rem}
.groups{padding-top:2.75rem}
.groups+.charts{padding-top:2.75rem}
.matrix td{padding:.375rem .5rem;text-align:center}
.matrix .heading{text-align:center;padding-left:.5rem;padding-right:.5rem}
.class-terms{border-top:1px solid var(--line);margin-top:2.75rem;padding-top:1.5rem}
.class-terms>section{padding-top:1.25rem}
.class-terms details{padding-top:1.25rem}
.class-terms summary{cursor:pointer}
.class-terms summary h3{display:inline}
.class-terms>.under:last-child{padding-top:1.25rem}
.class-terms details+details{border-top:1px solid var(--grid);margin-top:1.25rem}
.class-terms .chart{margin-top:0}
footer{border-top:1px solid var(--line);padding-top:1.25rem;font-size:.875rem;color:var(--soft)}
@media (max-width:40rem){
  main{padding:1.5rem 1rem 3rem}
  .summary{grid-template-columns:minmax(0,1fr);padding:1.5rem 0 1rem}
  .facts{grid-template-columns:repeat(2,minmax(0,1fr))}
  .charts{padding-top:1.25rem}
  .chart text{font-size:14.25px}
  tbody th{min-width:4.5rem}
  #thresholds tbody th,#groups tbody th,#classes tbody th,.matrix tbody th,.class-terms tbody th{min-width:7rem}
  th,td{padding-right:.5rem}
  .bar{min-width:2.5rem}
  .weights td:last-child{width:20%}
}
@media print{
  .contents{display:none}
  .short{margin-top:.5rem;max-width:none}
  .groups{padding-top:.75rem;break-inside:avoid}
  @page{margin:12mm}
  html,body{font-size:11px}
  main{max-width:none;padding:0}
  header{padding-bottom:.5rem}
  .summary{grid-template-columns:minmax(0,5fr) minmax(0,6fr);gap:1rem 2rem;padding:1rem 0 .5rem}
  .auc{font-size:3.25rem}
  .interval{margin-top:.25rem}
  .facts{grid-template-columns:repeat(3,minmax(0,1fr));gap:.5rem 1rem}
  .charts{grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem 2.5rem;padding-top:.5rem}
  .chart{width:76%;margin-left:0}
  .chart text{font-size:14.25px}
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
  footer{padding-top:.5rem;break-before:avoid}
  .provenance{padding:.5rem 0;break-inside:avoid}
  .provenance table{margin-top:.375rem}
  .provenance::details-content{content-visibility:visible;block-size:auto}
  .provenance summary{list-style:none}
}
"""

# The page on which terms are edited, in addition.
EDITING_RULES = """
.editing{max-width:76rem}
.editing header{display:flex;flex-wrap:wrap;gap:1rem 2rem;justify-content:space-between;align-items:end}
.editing header>:first-child{flex:1 1 24rem}
#chart,.editing button{user-select:none;-webkit-user-select:none}
button,select,input,textarea{font:inherit;color:inherit}
button{background:var(--paper);border:1px solid var(--line);border-radius:.375rem;padding:.3125rem .75rem;
  min-height:2.25rem;cursor:pointer}
button:hover:not(:disabled){border-color:var(--soft)}
button:disabled{color:var(--soft);opacity:.6;cursor:default}
button.primary:not(:disabled){background:var(--negative);border-color:var(--negative);color:var(--paper)}
button[aria-pressed=true]{border-color:var(--positive);color:var(--positive)}
button:focus-visible,select:focus-visible,input:focus-visible,textarea:focus-visible,summary:focus-visible{
  outline:2px solid var(--negative);outline-offset:2px}
.actions,.tools{display:flex;flex-wrap:wrap;gap:.5rem}
.bar-line{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;min-height:1.5rem;padding-top:.5rem}
.split{display:grid;grid-template-columns:minmax(0,17rem) minmax(0,1fr);gap:2.5rem;padding:1.25rem 0 2rem}
nav ol{list-style:none;margin:0;padding:0;max-height:38rem;overflow-y:auto}
nav button{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 .75rem;width:100%;text-align:left;border:0;
  border-radius:.375rem;padding:.4375rem .75rem .5rem}
nav button:hover{background:var(--grid)}
nav button[aria-current=true]{background:var(--grid);font-weight:600}
.term-name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.state{color:var(--positive);font-size:.875rem;font-weight:400}
.meter{grid-column:1/-1;height:3px;margin-top:.25rem;border-radius:2px;background:var(--line)}
.size{display:block;height:100%;border-radius:2px;background:var(--negative)}
#choose{display:none}
#editor{min-width:0}
#editor h2{font-size:1.25rem;overflow-wrap:anywhere}
.tools{padding:.875rem 0 1rem}
#chart .chart{width:auto;max-width:none;margin:0;touch-action:pan-y}
#chart .chart text{font-size:13px}
#chart.removed .curve{stroke:var(--soft)}
.chart .was{fill:none;stroke:var(--soft);stroke-width:1.5;stroke-dasharray:2 3}
.handle{cursor:ns-resize;outline:none;touch-action:none}
.handle .reach{fill:transparent}
.handle:hover .dot,.handle.chosen .dot,.handle:focus .dot{fill:var(--negative)}
.handle:focus-visible .reach{stroke:var(--negative);stroke-width:1.5}
.key-was{display:flex;gap:1.25rem}
.key-was[hidden],.key-was [hidden],.point[hidden]{display:none}
.key-was span::before{content:"";display:inline-block;width:1.5rem;margin-right:.5rem;vertical-align:.25em;
  border-top:2px solid var(--negative)}
.key-was .was::before{border-top:2px dotted var(--soft)}
.point{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;padding-top:.75rem}
input.number{width:6.5rem;min-height:2.25rem;padding:.25rem .5rem;text-align:right;background:var(--paper);
  border:1px solid var(--line);border-radius:.375rem;appearance:textfield;-moz-appearance:textfield}
input.number::-webkit-inner-spin-button{appearance:none;-webkit-appearance:none;margin:0}
.empty{padding:2rem 0}
.level{display:grid;grid-template-columns:minmax(0,9rem) minmax(0,1fr) 6.5rem 3.5rem;gap:.25rem .875rem;
  align-items:center;padding:.25rem 0}
.level-name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.share{text-align:right;font-size:.875rem}
.track{position:relative;height:2.25rem;cursor:ew-resize;touch-action:none;outline:none}
.track>span{position:absolute}
.zero{top:0;bottom:0;border-left:1px dashed var(--soft)}
.bar-up,.bar-down{top:.625rem;height:1rem}
.bar-up{background:var(--positive)}
.bar-down{background:var(--negative)}
.removed .bar-up,.removed .bar-down{background:var(--soft)}
.mark{top:.375rem;bottom:.375rem;border-left:2px dotted var(--soft);margin-left:-1px}
.grip{top:.375rem;width:.625rem;height:1.5rem;margin-left:-.3125rem;border-radius:.25rem;background:var(--paper);
  border:2px solid var(--ink)}
.level-axis .track{height:1.5rem;cursor:default;border-top:1px solid var(--line)}
.tick{transform:translateX(-50%);font-size:.8125rem}
.apply{border-top:1px solid var(--line);padding:1.5rem 0}
pre,textarea{font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{margin:.75rem 0;padding:.625rem .75rem;background:var(--grid);border-radius:.375rem;white-space:pre-wrap;
  overflow-wrap:anywhere}
textarea{display:block;width:100%;margin-top:.5rem;padding:.625rem .75rem;background:var(--paper);
  border:1px solid var(--line);border-radius:.375rem}
summary{cursor:pointer}
.editing footer{overflow-wrap:anywhere}
@media (max-width:52rem){
  .split{grid-template-columns:minmax(0,1fr);gap:1rem}
  nav ol{display:none}
  #choose{display:block;width:100%;min-height:2.5rem;padding:.25rem .5rem;background:var(--paper);
    border:1px solid var(--line);border-radius:.375rem}
}
@media (max-width:40rem){
  .level{grid-template-columns:minmax(0,1fr) 6.5rem 3.25rem}
  .level-name{grid-column:1}
  .level .number,.level>.soft:not(.share){grid-row:1;grid-column:2}
  .level .share{grid-row:1;grid-column:3}
  .level .track{grid-row:2;grid-column:1/-1}
}
"""


def style_sheet() -> str:
    """Return the style sheet of the page: light in print and by default, dark if the browser prefers it."""
    return chart_style() + _shades() + RULES


def chart_style() -> str:
    """Return the style sheet of a chart by itself, in the same colors."""
    dark = f"@media screen and (prefers-color-scheme:dark){{{_colors(DARK)}}}"
    return f":root{{color-scheme:light dark}}{_colors(LIGHT)}{dark}{CHART_RULES}"


def _colors(theme: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{color}" for name, color in theme.items()) + "}"


def _shades() -> str:
    """Return the rules of the cells of the table of pairs, of which the first has no shade."""
    shares = {number: number * DARKEST // (N_SHADES - 1) for number in range(1, N_SHADES)}
    return "".join(
        f".shade-{number}{{background:color-mix(in srgb,var(--positive) {percent}%,transparent)}}"
        for number, percent in shares.items()
    )
