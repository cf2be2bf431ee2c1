"""From the source of a lesson to its notebooks, and from a learner's notebook to a verdict."""
