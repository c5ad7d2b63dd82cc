"""How the documentation is built: `make docs`."""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from opauc.version import __version__  # noqa: E402

project, author = "opauc", "the opauc developers"
copyright = f"2026, {author}"  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "public_members",
]
exclude_patterns = ["_build", "_templates", "_extensions"]
templates_path = ["_templates"]
highlight_language = "none"
smartquotes = False  # options begin with two hyphens
default_role = "literal"

myst_enable_extensions = ["attrs_inline", "attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # methods by their own names in the column at the right
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Examples whose names begin with plot_ take a few seconds; those that begin with long_ are left out of quick builds.
QUICK = os.environ.get("OPAUC_DOCS") == "quick"
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_" if QUICK else r"/(plot|long)_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "plot_gallery": True,
}

# Where the kernels of the machine that builds the site lie is no part of what an example prints.
logging.getLogger("opauc").setLevel(logging.ERROR)

html_theme = "pydata_sphinx_theme"
html_title = "opauc"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "opauc", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "alt_text": "opauc"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_version_warning_banner": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
# Pages without a section next to them need no empty column.
html_sidebars = {"index": [], "install": []}


def setup(app):
    """Printed output in Markdown stands in blocks of the language `output`, which tests compare."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("output", TextLexer)
