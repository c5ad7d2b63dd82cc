"""The documentation answers what users ask, and its pages are reached, linked and up to date."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not {"_build", "gallery"} & set(page.relative_to(DOCS).parts)]

# The questions of a review by a newcomer: the page and anchor that answer each, and words of the answer.
QUESTIONS = {
    "OPAUC, OPAUCCV or OnePassGAM?": ("how-to/choose-estimator.md#which-estimator", "`OPAUCCV()`"),
    "How do I set a decision threshold?": ("how-to/thresholds.md#threshold-by-cost", "cost_fn"),
    "What does predict do without a threshold?": ("how-to/thresholds.md#default-threshold", "of one half"),
    "Several classes?": ("how-to/choose-estimator.md#more-than-two-classes", "OneVsRestClassifier"),
    "Regression, ranking with query groups, other losses?": (
        "how-to/choose-estimator.md#regression-ranking-other-losses", "regression",
    ),
    "How do I serve it?": ("how-to/deploy.md#serve", "Latency"),
    "Monotone constraints?": ("how-to/choose-estimator.md#monotone-constraints", "constraint"),
    "Which columns are categories?": ("how-to/missing-and-categories.md#declare-column-types", "categorical="),
    "What happens to unseen categories?": ("how-to/missing-and-categories.md#unseen-categories", "share one effect"),
    "A missing value where training had none?": ("how-to/missing-and-categories.md#missing-at-prediction", "near zero"),
    "How do I update a model every night?": ("how-to/update-merge-remove.md#update-every-night", "partial_fit"),
    "Does updating change knots and categories?": (
        "how-to/update-merge-remove.md#what-an-update-changes", "Fixed by the initial sample",
    ),
    "How do I remove a customer's data?": (
        "how-to/update-merge-remove.md#remove-a-customers-rows", "forget_report_",
    ),
    "Is it reproducible?": ("how-to/reproduce.md#what-is-random", "random_state"),
    "Pipeline and ColumnTransformer?": ("how-to/pipelines.md#pipeline", "make_column_transformer"),
    "GridSearchCV and cross_val_score?": ("how-to/pipelines.md#cross-validation", "GridSearchCV"),
    "Are probabilities calibrated?": ("how-to/probabilities.md#calibrate", "CalibratedClassifierCV"),
    "sample_weight, class_weight?": ("how-to/imbalanced-data.md#weights", "no `class_weight`"),
    "How many rows and columns, how much memory, how long?": ("how-to/larger-than-memory.md#how-much", "16 d²"),
    "Terms as a data frame, plotted?": ("how-to/explain.md#terms-as-a-data-frame", "to_frame"),
    "Feature importances?": ("how-to/explain.md#importances", "feature_importances_"),
    "SHAP?": ("how-to/explain.md#shap", "SHAP value"),
    "Does a model file stay readable?": ("reference/model-file.md#compatibility", "0.1.0"),
    "Which platforms and Python versions?": ("install.md#supported-platforms", "Windows"),
    "How do I silence or route warnings and logs?": ("how-to/logging.md#silence", "logging.getLogger"),
    "What do selection_, drift_, leaks_ mean for me?": ("how-to/checks.md#what-to-do", "`drift_`"),
    "Time-ordered data without leakage?": ("how-to/time-ordered-data.md#validate-in-time", "TimeSeriesSplit"),
    "How do I cite the library and the paper?": ("get-help.md#cite", "gao2013onepass"),
    "Where do I report a bug?": ("get-help.md#report-a-bug", "issue tracker"),
}  # fmt: skip


def section(text, anchor):
    """Return the part of a page from an anchor to the next heading of the same or a higher level."""
    begin = re.search(rf"^\({re.escape(anchor)}\)=\n+(#+) .*$", text, re.MULTILINE)
    assert begin, f"there is no ({anchor})= before a heading"
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", text[begin.end() :], re.MULTILINE)
    return text[begin.start() : begin.end() + (end.start() if end else len(text))]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_page_answers(question):
    place, words = QUESTIONS[question]
    page, anchor = place.split("#")
    assert words in section((DOCS / page).read_text(encoding="utf-8"), anchor)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_to_files(page):
    """Also outside the site, which checks its own."""
    for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target) and not target.startswith("../gallery/"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "module", ["opauc", "opauc.metrics", "opauc.engines", "opauc.baselines", "opauc.mlflow", "opauc.river"]
)
def test_every_public_name_is_in_the_reference(module):
    listed = set(
        re.findall(r"^   ([\w.]+)$", (DOCS / "reference" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    listed = {name.split(".")[-1] for name in listed}
    assert {name for name in import_module(module).__all__ if not name.startswith("_")} <= listed


def test_every_page_is_in_a_menu():
    listed = set()
    for page in PAGES:
        for menu in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in menu.split("\n"):
                if entry and not entry.startswith(":"):
                    listed.add((page.parent / f"{entry}.md").resolve())
    assert set(PAGES) - {DOCS / "index.md"} <= listed
