"""Settings of the documentation site; `sphinx-build -W -b html docs build/docs` builds it."""

import importlib.util
import os
import sys
from pathlib import Path

# transformers notes which libraries are installed when it is imported; autodoc pretends below that some of them are.
import hf_bpe.tokenizer._tokenization_bpe  # noqa: F401
from hf_bpe import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "hf_bpe"
author = "The hf_bpe authors"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "command_reference",
    "named_patterns",
    "page_details",
    "source_links",
]
exclude_patterns = ["pictures/README.md"]
highlight_language = "text"
default_role = "py:obj"  # a name in backticks is a link where the reference has it, code elsewhere

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # --option is not an en dash
toc_object_entries_show_parents = "hide"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_mock_imports = [name for name in ("ray", "torch") if importlib.util.find_spec(name) is None]
autodoc_inherit_docstrings = False  # those of transformers are not written for Sphinx
autodoc_preserve_defaults = False  # it cannot read those of `BPETokenizer.train`, whose options are listed elsewhere
autodoc_type_aliases = {name: name for name in ("Listener", "TextSource")}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 110
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Raises, warns", "raises_style")]
napoleon_use_rtype = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links from the pages to the code lead to the repository where its address is known, as the workflow knows it.
source_url = os.environ.get("HF_BPE_SOURCE_URL", "")

html_theme = "furo"
html_title = f"hf_bpe {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
BRAND = ("color-brand-primary", "color-brand-content", "color-brand-visited")
NAMES = {"color-api-name": "var(--color-foreground-primary)", "color-api-pre-name": "var(--color-foreground-secondary)"}
html_theme_options = {
    "light_css_variables": {**dict.fromkeys(BRAND, "#0b5cad"), **NAMES},
    "dark_css_variables": {**dict.fromkeys(BRAND, "#7ab7ff"), **NAMES},
    "top_of_page_buttons": [],
}
