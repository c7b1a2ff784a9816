"""BFCL v4, single turn: does a model call the right function with the right arguments?"""

from relaymark.score.bfcl.asking import ANSWERS_FILE, run_bfcl
from relaymark.score.bfcl.checking import ModelCall, check_calls
from relaymark.score.bfcl.loading import load_samples
from relaymark.score.bfcl.scoring import SCORE_FILE, BfclScore

__all__ = ["ANSWERS_FILE", "SCORE_FILE", "BfclScore", "ModelCall", "check_calls", "load_samples", "run_bfcl"]
