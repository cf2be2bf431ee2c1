"""Server extension: what is saved keeps an output's picture and drops the live view, which is dead without its kernel.

Without it, a reader who comes back the next day sees "model not found" where the picture is (JupyterLab 4.6), and above
the curve of each training, where a progress bar was. The open notebook stays live. Installation switches it on, by
etc/jupyter/jupyter_server_config.d/course_lib.json.
"""

import re

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CLOCK = re.compile(r"\[\d+:\d\d[<,]")  # of tqdm's bar as text: training: 0/600 [00:00<?, ?step/s]


def keep_pictures(model, **_):
    """Take the widget view out of each output that has an image too, all progress bars, and the widgets' state."""
    if model.get("type") != "notebook" or not model.get("content"):
        return
    notebook = model["content"]
    notebook.get("metadata", {}).pop("widgets", None)
    for cell in notebook.get("cells", []):
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if not _is_bar(output)]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if any(kind.startswith("image/") for kind in data):
                data.pop(WIDGET_VIEW, None)


def _is_bar(output):
    data = output.get("data", {})
    return WIDGET_VIEW in data and bool(CLOCK.search("".join(data.get("text/plain", ""))))  # a text, or a list of lines


def _jupyter_server_extension_points():
    return [{"module": "course_lib.explore.save_hook"}]


def _load_jupyter_server_extension(app):
    """Register the hook once the server runs: jupytext, loaded after this, puts another contents manager in place."""
    app.io_loop.add_callback(lambda: app.contents_manager.register_pre_save_hook(keep_pictures))
