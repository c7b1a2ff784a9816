"""How good: accuracy gates over the answers of a run. Reads traces; a judge calls its own endpoint through the wire."""
