"""A curve in the notebook that grows while a model trains."""

import sys
import time

REDRAW_EVERY = 1.0  # seconds: a redraw costs about 0.05 s


def in_notebook():
    """True inside a kernel (Jupyter, nbclient, nbval); false in a terminal, in IPython's prompt and in tests.

    >>> in_notebook()
    False
    """
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


class LiveCurve:
    """One picture in the cell's output, replaced in place; at the end exactly one image is left."""

    def __init__(self):
        from IPython.display import display  # only a kernel comes here

        self._display = display
        self._handle = None
        self._drawn_at = -REDRAW_EVERY

    def update(self, history, last=False):
        """Draw again if the last drawing is old enough and there is a line to see, or if this is the last one."""
        now = time.monotonic()
        if not last and (history.steps < 2 or now - self._drawn_at < REDRAW_EVERY):
            return
        picture = {"image/png": draw(history), "text/plain": "Training loss against steps"}
        if self._handle is None:
            self._handle = self._display(picture, raw=True, display_id=True)
        else:
            self._handle.update(picture, raw=True)
        self._drawn_at = time.monotonic()


def draw(history):
    """The curve of a `History` as PNG bytes: the loss on the left, metrics (if any) on the right.

    A metric called "loss" is that of held-out data, and stands on the left too.

    >>> from types import SimpleNamespace
    >>> draw(SimpleNamespace(losses=[3.0, 2.0, 1.0], metrics=[{"step": 3, "accuracy": 0.5}]))[1:4]
    b'PNG'
    """
    from course_lib import figures

    names = sorted({name for row in history.metrics for name in row} - {"step", "loss"})
    with figures.style():
        figure, axes = figures.panels(2 if names else 1, height=2.4)
        axes[0].plot(range(1, len(history.losses) + 1), history.losses, color="0.75", linewidth=0.8)
        axes[0].plot(*_smooth(history.losses), linewidth=1.8)
        axes[0].set(xlabel="step", ylabel="loss (nats a token)", ylim=(0, None))
        held_out = [(row["step"], row["loss"]) for row in history.metrics if "loss" in row]
        if held_out:
            axes[0].plot(*zip(*held_out, strict=True), linestyle="--", marker="o", label="held-out data")
            axes[0].legend()
        values = [row[name] for row in history.metrics for name in names if name in row]
        for name, style, marker in zip(names, ("-", "--", ":", "-."), "os^v", strict=False):
            points = [(row["step"], row[name]) for row in history.metrics if name in row]
            axes[1].plot(*zip(*points, strict=True), linestyle=style, marker=marker, label=name)
        if names:
            # Shares and accuracies are read against the whole scale from 0 to 1.
            axes[1].set(xlabel="step", ylabel="held-out data", ylim=(0, 1.02 if max(values) <= 1 else None))
            axes[1].legend()
    return figures.png(figure)


def _smooth(losses, window=20):
    """Means over windows of steps, placed at the middle of each window."""
    window = max(1, min(window, len(losses) // 5))
    starts = range(0, len(losses) - window + 1, window)
    return [start + (window + 1) / 2 for start in starts], [sum(losses[s : s + window]) / window for s in starts]
