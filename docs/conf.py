"""Settings of Sphinx, which makes the documentation site: `make docs`."""

from __future__ import annotations

project = "Urteil"
html_title = "Urteil"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4  # headings are link targets, as on GitHub
myst_enable_extensions = ["deflist"]
nitpicky = True
suppress_warnings = ["myst.header"]  # generated pages may skip a heading level

# `make links`: addresses in examples lead to the reader's own machine.
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost|host|registry)([:/]|$)"]
linkcheck_timeout = 30  # seconds for one answer
linkcheck_retries = 3  # a site may be down for a moment
linkcheck_rate_limit_timeout = 60  # seconds that a site may ask us to wait
linkcheck_workers = 4
