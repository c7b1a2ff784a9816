"""Published results shown: on a terminal, as JSON, and as a page to explore."""
