"""MaxSim, the score of late interaction (ColBERT, Khattab and Zaharia 2020): for every token of the query the best
match among the passage's tokens, summed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def maxsim(query: NDArray[np.float32], passages: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Scores of passages for one query.

    Args:
        query: Token vectors of the query, shape (query tokens, width).
        passages: Token vectors of the passages, shape (passages, tokens, width), padded.
        mask: Which of the passages' tokens count, shape (passages, tokens).

    Returns:
        One score a passage; a passage without a token that counts scores minus infinity.
    """
    products = np.einsum("qw,ptw->pqt", query, passages, optimize=True)
    products = np.where(mask[:, None, :], products, -np.inf)
    return products.max(axis=2).sum(axis=1).astype(np.float32)
