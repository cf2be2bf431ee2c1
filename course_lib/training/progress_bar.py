"""A bar for somebody who watches a training."""

import os
import sys

from course_lib.claims import smoke_mode

from .live_curve import in_notebook


def progress_bar(steps, wanted):
    """tqdm's bar over `steps`, a mere counter where they are None.

    It shows nothing in CI, in smoke mode, and where the output goes to a file. wanted False: it never shows.

    >>> with progress_bar(10, wanted=False) as bar:
    ...     bar.total, bar.disable
    (10, True)
    """
    from tqdm.auto import tqdm

    watched = in_notebook() or sys.stderr.isatty()
    shown = wanted and watched and not os.environ.get("CI") and not smoke_mode()
    return tqdm(total=steps, disable=not shown, desc="training", unit="step", leave=False)
