"""A page as HTML, in the dress of a wiki: navigation, hatnote, infobox, edit links, references, navigation box.

Ingestion is to keep the infobox, the paragraphs and the headings, and to leave out the rest (MLPerf's end-to-end RAG
names the classes). :func:`page_text` says what must be left: the text nodes of the content, each trimmed, joined by
one space.
"""

from __future__ import annotations

from functools import lru_cache

from relaymark.data.world.article import compose
from relaymark.data.world.entities import Entity, World

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - The Generated Encyclopedia</title>
<link rel="canonical" href="{url}">
<style>
body {{ font-family: Georgia, serif; margin: 0; color: #222; line-height: 1.5 }}
header, nav, footer {{ font: 14px sans-serif; background: #f2f2ee; padding: .6em 1.5em }}
main {{ max-width: 52em; margin: 0 auto; padding: 1em 1.5em }}
a {{ color: #1a4f8b; text-decoration: none }}
.infobox {{ float: right; margin: 0 0 1em 1.5em; border: 1px solid #bbb; font: 14px sans-serif; max-width: 20em }}
.infobox th {{ text-align: left; padding-right: .8em }}
.hatnote {{ font-style: italic; padding-left: 1.6em }}
.mw-editsection {{ font: 12px sans-serif; margin-left: .6em }}
.toc, .navbox, .catlinks {{ font: 13px sans-serif; border: 1px solid #ccc; padding: .5em 1em; margin: 1em 0 }}
</style>
</head>
<body>
<header><a href="#">The Generated Encyclopedia</a> <input type="search" aria-label="Search"></header>
<nav id="mw-navigation"><a href="#">Main page</a> <a href="#">Contents</a> <a href="#">Random page</a></nav>
<main id="content">
<h1 id="firstHeading">{title}</h1>
<div id="mw-content-text"><div class="mw-parser-output">
<div class="hatnote">Not to be confused with {mistaken}.</div>
<table class="infobox">
<caption>{title}</caption>
"""
_EDIT = '<span class="mw-editsection">[<a href="#">edit</a>]</span>'
_TAIL = """\
</ol>
<div class="navbox" role="navigation"><b>See also</b> {related}</div>
</div></div>
<div id="catlinks" class="catlinks">Category: <a href="#">{kind}</a></div>
</main>
<footer>This page was generated. Nothing in it is true.</footer>
<script>document.documentElement.classList.add("ready");</script>
</body>
</html>
"""
_KIND = {
    "person": "People", "town": "Towns", "region": "Regions", "river": "Rivers", "mountain": "Mountains",
    "school": "Schools", "company": "Companies", "bridge": "Bridges", "ship": "Ships", "novel": "Novels",
}  # fmt: skip


def _escape(text: str) -> str:
    """Names hold no other character that HTML minds."""
    return text.replace("&", "&amp;")


@lru_cache(maxsize=4096)
def _anchor(entity: Entity) -> str:
    # A percent sign in the file's name is itself escaped in a link to it.
    return f'<a href="{entity.file.replace("%", "%25")}">{_escape(entity.name)}</a>'


def page_html(world: World, entity: Entity) -> str:
    """The page of an entity, UTF-8 text."""
    article = compose(world, entity, _anchor, _escape)
    title = _escape(entity.name)
    parts = [_HEAD.format(title=title, url=entity.url, mistaken=article.mistaken)]
    parts += [f"<tr><th>{label}</th><td>{value}</td></tr>\n" for label, value in article.rows]
    parts.append(f"</table>\n<p>{' '.join(article.lead)}</p>\n")
    contents = "".join(f'<li><a href="#s{n}">{title}</a></li>' for n, (title, _) in enumerate(article.sections))
    parts.append(f'<div id="toc" class="toc"><b>Contents</b><ul>{contents}</ul></div>\n')
    for number, (heading, sentences) in enumerate(article.sections):
        parts.append(f'<h2 id="s{number}">{heading}{_EDIT}</h2>\n<p>')
        parts.append(" ".join(sentences))
        mark = 1 + number % len(article.notes)
        parts.append(f'<sup class="reference"><a href="#n{mark}">[{mark}]</a></sup></p>\n')
    parts.append('<h2 id="References">References</h2>\n<ol class="references">\n')
    for number, note in enumerate(article.notes, start=1):
        parts.append(f'<li id="n{number}"><span>^</span> <cite class="citation">{note}</cite></li>\n')
    parts.append(_TAIL.format(related=" · ".join(article.related), kind=_KIND[entity.kind]))
    return "".join(parts)


_CUT = "\x00"  # where a text node ends


def page_text(world: World, entity: Entity) -> str:
    """What a right reader finds on the page: content only, text nodes trimmed and joined by one space."""
    article = compose(world, entity, lambda other: f"{_CUT}{other.name}{_CUT}", str)
    nodes = [entity.name]
    for label, value in article.rows:
        nodes += (label, value)
    nodes.append(" ".join(article.lead))
    for heading, sentences in article.sections:
        nodes += (heading, " ".join(sentences))
    nodes.append("References")
    nodes += "^" * len(article.notes)
    cut = _CUT.join(nodes).split(_CUT)
    return " ".join(piece for node in cut if (piece := node.strip()))
