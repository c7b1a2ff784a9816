"""With which inputs? Prompts from files, recipes, lists and the built-in set."""

from __future__ import annotations

from relaymark.data.prompt import Prompt
from relaymark.data.prompts import PromptSet, load_prompts

__all__ = ["Prompt", "PromptSet", "load_prompts"]
