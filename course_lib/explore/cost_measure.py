"""Measures what `cost` counts: the time of one encoder block in this kernel, for longer and longer texts."""

import time
from functools import partial

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.linear_attention import linear_attention
from course_lib.sparse_attention import window_attention
from course_lib.tiled_attention import tiled_attention

from .base import name_of, problem

SECONDS = 0.8  # of all that is measured together
SHORTEST, SHOWN = 16, 3  # tokens of the first text; how many of the last lengths are shown
WIDEST = 2048  # a wider block takes longer to make than to run
MOST_SCORES = 2**25  # H · N²: 128 MB
GROWS = 4.5  # by how much, at most, twice the length takes longer


def function_of(kind, window):
    """The library's attention of a kind, by the contract of `scaled_dot_product_attention`."""
    return {
        "full": scaled_dot_product_attention,
        "tiled": tiled_attention,
        "window": partial(window_attention, window=window),
        "linear": linear_attention,
    }[kind]


@torch.inference_mode()
def measure(attention, setting):
    """{"name", "rows": [[N, milliseconds, times the row before or None], ...]}, or with "problem" what it raised.

    One block as wide as the setting says, with as many heads, keys for each, on one text in float32. Up to three
    lengths: the setting's and those before, or the longest that can be measured in SECONDS.
    """
    name = name_of(attention, "attention")
    if setting.width > WIDEST:
        return {"name": name, "rows": []}
    numbers = torch.Generator().manual_seed(0)  # of its own, so that a notebook's draws stay what they were
    block, times, begun = _block(attention, setting, numbers), {}, time.perf_counter()
    try:
        for length in _lengths(setting):
            x = torch.randn(1, length, setting.width, generator=numbers, dtype=torch.float32, device="cpu")
            run = partial(block, x, need_weights=setting.kind == "full")  # who asks for the weights gets the square
            if not times:
                run()  # the first run of all also sets up what the others find ready
            left = SECONDS - (time.perf_counter() - begun)
            if times and GROWS * times[length // 2] > left:
                break
            times[length] = _seconds(run, left / 4)
    except Exception as error:  # the function is the learner's, and may raise anything
        return {"name": name, "rows": [], "problem": problem(error)}
    return {"name": name, "rows": _rows(list(times.items()))}


def _block(attention, setting, numbers):
    with torch.device("meta"):  # its own first weights would take longer than all that is measured
        block = EncoderBlock(setting.width, setting.heads, 4 * setting.width, attention=attention)
    block = block.to_empty(device="cpu").float()
    for weight in block.parameters():
        weight.uniform_(-(setting.width**-0.5), setting.width**-0.5, generator=numbers)
    return block.eval()


def _lengths(setting):
    """From the shortest on, each twice the one before, up to the setting's or what the square has room for."""
    length = SHORTEST
    while length <= setting.length and (setting.kind != "full" or setting.heads * length**2 <= MOST_SCORES):
        yield length
        length *= 2


def _seconds(run, most):
    """The shortest of up to five runs, no further one beyond `most` seconds."""
    best, spent = float("inf"), 0.0
    for _ in range(5):
        begun = time.perf_counter()
        run()
        took = time.perf_counter() - begun
        best, spent = min(best, took), spent + took
        if spent + took > most:
            break
    return best


def _rows(times):
    """The last lengths, with two digits each; of the first one there is nothing before."""
    shown, before = times[-SHOWN:], None
    rows = []
    for length, seconds in shown:
        rows.append([length, float(f"{1000 * seconds:.2g}"), before and float(f"{seconds / before:.2g}")])
        before = seconds
    return rows
