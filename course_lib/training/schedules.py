"""Schedules: the rate of each step. `training.fit` takes one as `lr`, with all arguments but the step filled in."""


def noam_rate(step, d_model, warmup, factor=1.0):
    """The rate of the Transformer (Vaswani et al. 2017, equation 3): up in a line for `warmup` steps, then as 1/√step.

    step: counts the updates, not the batches between them, from 1. warmup: at least 1.
    Returns a float, the whole rate: an optimiser that multiplies it by a rate of its own is off by that factor. The
    peak, at step = warmup, is factor / √(d_model · warmup).
    Raises ValueError for a step or a warmup below 1.

    >>> [round(1000 * noam_rate(step, d_model=512, warmup=4000), 3) for step in (1, 2000, 4000, 16000)]
    [0.0, 0.349, 0.699, 0.349]
    """
    if step < 1:
        raise ValueError(f"step: expected at least 1, since steps count from 1, got {step}")
    if warmup < 1:
        raise ValueError(f"warmup: expected at least 1, got {warmup}")
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
