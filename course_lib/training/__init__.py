"""Training: one loop for all models of the course, and what a long run needs.

`loop` has `fit`. Beside it: `schedules` (the rate of each step), `checkpoints` (the file of a run that may be
interrupted) and `resuming` (what goes into it and comes back), `precision` (16 bits where the device gains by it),
`randomness`, `processes` (several that train one model), `interrupts`, `live_curve` and `progress_bar`.
"""

from .loop import History, fit, sequence_loss

__all__ = ["History", "fit", "sequence_loss"]
