"""With which inputs? Prompts from files, recipes, lists and the built-in set; questions with known answers."""

from __future__ import annotations

from relaymark.data.prompt import Prompt
from relaymark.data.prompts import PromptSet, load_prompts
from relaymark.data.questions import Hop, Question, load_questions

__all__ = ["Hop", "Prompt", "PromptSet", "Question", "load_prompts", "load_questions"]
