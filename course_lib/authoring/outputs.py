"""What may stay in a stored output, so that two runs of a lesson give the same bytes and show nothing of the machine.

The build cleans what it stores; the nbval plugin cleans what it compares, by the same function.
"""

import re
import sys
import tempfile
from pathlib import Path

from .catalogue import repo_root

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"  # holds a random model id, and shows nothing without a kernel
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
CELL_FILE = re.compile(r"\S*ipykernel_\d+[\\/]\d+\.py")


def neutral(text):
    """`text` without memory addresses, names of temporary cell files, and folders of this machine."""
    text = ADDRESS.sub("0x…", CELL_FILE.sub("cell.py", text))
    for folder, name in machine_folders():
        text = text.replace(folder, name)
    return text


def machine_folders():
    """(folder, what stands for it), the longest first; a root directory is left alone."""
    folders = {
        str(repo_root()): "course",
        sys.prefix: "python",
        sys.base_prefix: "python",
        str(Path.home()): "~",
        tempfile.gettempdir(): "tmp",
    }
    return sorted((pair for pair in folders.items() if len(pair[0]) > 1), key=lambda pair: -len(pair[0]))


def lasting(output):
    """Whether an output is stored and compared.

    Not stderr, which holds progress bars and warnings of libraries. Not a widget without a picture: what is left of it
    is the text of a progress bar, or the name of something that nobody can see.
    """
    if output.output_type == "stream":
        return output.name != "stderr"
    data = output.get("data", {})
    return WIDGET_VIEW not in data or any(kind.startswith("image/") for kind in data)


def clean(outputs):
    """The outputs of one cell as they are stored: those that last, without widget views, with neutral text."""
    kept = [output for output in outputs if lasting(output)]
    for output in kept:
        if output.output_type == "stream":
            output.text = neutral(output.text)
        data = output.get("data", {})
        data.pop(WIDGET_VIEW, None)
        for kind, value in data.items():
            if kind.startswith("text/") and isinstance(value, str):
                data[kind] = neutral(value)
    return kept
