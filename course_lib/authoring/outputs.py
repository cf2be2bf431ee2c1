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


def clean(outputs):
    """The outputs of one cell as they are stored: no stderr, no widget views, no metadata, neutral text."""
    kept = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":  # progress bars and warnings of libraries
                continue
            output.text = neutral(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            output.data.pop(WIDGET_VIEW, None)
            for kind, value in output.data.items():
                if kind.startswith("text/") and isinstance(value, str):
                    output.data[kind] = neutral(value)
            if not output.data:
                continue
        kept.append(output)
    return kept
