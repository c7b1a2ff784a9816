"""Why, and what if: critical paths, what a change would buy, how runs compare, scale and what they cost."""
