"""Task sets: questions with references, their splits, and the prompts per role."""
