"""How a run is shown: terminal, static HTML, live progress, and files for other programs.

Import the modules themselves (``relaymark.report.terminal``, ``.html``, ``.progress``, ``.export``, ``.perfetto``):
rich and jinja2 are loaded only by who needs them.
"""

__all__: list[str] = []
