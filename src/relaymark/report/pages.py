"""Pages made of a template, a style sheet and a script of ours: self-contained, and allowed to run nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup


def render_page(name: str, *, styles: Sequence[str], scripts: Sequence[str], **content: Any) -> str:
    """``templates/NAME.html.j2`` with style sheets and scripts of the same folder.

    Everything is escaped but what is markup already. The policy (``default-src 'none'``) allows exactly the one style
    sheet and the one script that are in the page, by their SHA-256.
    """
    style, script = "".join(map(asset, styles)), "".join(map(asset, scripts))
    policy = (
        f"default-src 'none'; style-src '{_sha256(style)}'; script-src '{_sha256(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _template(name).render(
        policy=policy,
        style=Markup(style),  # noqa: S704 (our own files, not user text)
        script=Markup(script),  # noqa: S704
        **content,
    )


@cache
def asset(name: str) -> str:
    """A file of the templates' folder."""
    return resources.files("relaymark.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(asset(f"{name}.html.j2"))


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
