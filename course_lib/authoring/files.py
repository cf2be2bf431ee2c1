"""Write files so that a reader finds the old one or the new one, never a half."""

import os


def write_whole(path, data):
    """Write a file whole or not at all. data: bytes, or text, as UTF-8 with `?` for what has no such form."""
    partial = path.with_name(f".{os.getpid()}.partial")
    partial.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", errors="replace"))
    os.replace(partial, path)
