"""Data files of limits and targets; each says where its figures come from. :mod:`relaymark.rules.limits` reads them."""
