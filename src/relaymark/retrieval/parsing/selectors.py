"""What of a page is no content, and where its content is: MLPerf's lists, which suit MediaWiki."""

from __future__ import annotations

TAGS = ("script", "style", "nav", "header", "footer")
BOILERPLATE = (
    "#mw-navigation, .navbox, .navigation-box, .ambox, .tmbox, .mw-editsection, .edit-section, .editlink, "
    "sup.reference, .reference, .citation, .hatnote, .dablink, .rellink, #catlinks, .catlinks, .external-links, #toc, "
    ".toc, .thumbcaption .metadata, .image-metadata"
)
CONTENT = ("#mw-content-text .mw-parser-output", "#mw-content-text", "main", "article", ".content", "#content", "body")
