"""Every run of the decode stepper: undisturbed and with one error, teacher forced and free, by the model itself."""

import torch

from course_lib.data.batches import Batch
from course_lib.data.vocabulary import BOS, EOS, PAD, SPECIAL
from course_lib.generation import evaluating

from .base import numbers, rounded

MOST_STEPS = 20
TOP = 5  # tokens shown at each step
OTHERS = 4  # tokens that may be read instead
OWN = -1  # in a list of what is fed: the token that the run has written itself


@torch.no_grad()
def walk(model, batch, fed):
    """Run the decoder over one example many times side by side. fed: (N, T) ids, OWN where a run reads its own token.

    Returns what was read (N, T) and the logits (N, T, V). The model is in evaluation mode meanwhile.
    """
    device = next(model.parameters()).device
    fed = torch.tensor(fed, device=device)
    with evaluating(model):
        source = batch.source.to(device).expand(len(fed), -1)
        state = model.encode(source, batch.source_lengths.expand(len(fed)))
        token, read, scores = fed[:, 0], [], []
        for wanted in fed.unbind(1):  # (N,)
            token = torch.where(wanted == OWN, token, wanted)
            logits, state = model.step(token, state)
            read.append(token)
            scores.append(logits)
            token = logits.argmax(dim=-1)
    return torch.stack(read, dim=1).cpu(), torch.stack(scores, dim=1).cpu().double()


def likeliest(logits, count):
    """The `count` highest logits' ids (..., count), the highest first; of equal ones the smaller id, as in argmax."""
    return logits.sort(dim=-1, descending=True, stable=True).indices[..., :count]


def others(logits, read):
    """The likeliest tokens to be read instead of `read`; PAD, BOS, EOS and UNK are none."""
    ranked = likeliest(logits, OTHERS + 1 + len(SPECIAL)).tolist()
    return [token for token in ranked if token >= len(SPECIAL) and token != read][:OTHERS]


def run_of(logits, plain, free):
    """The steps of one run as the page reads them: [ids of the top five, their probabilities, distance].

    logits: (T, V). plain: (T', V), the run without the error. free: it ends with the EOS that it writes. The distance
    is the total variation between the two distributions, 0 to 1; None at a step that the other run does not have.
    """
    both = min(len(logits), len(plain))
    top, p, q = likeliest(logits, TOP), logits.softmax(dim=-1), plain.softmax(dim=-1)
    shares = rounded(p.gather(-1, top).numpy())
    moved = rounded((p[:both] - q[:both]).abs().sum(dim=-1).numpy() / 2) + [None] * (len(p) - both)
    steps = [list(step) for step in zip(top.tolist(), shares, moved, strict=True)]
    ends = [at for at, (ids, _, _) in enumerate(steps, 1) if free and ids[0] == EOS]
    return steps[: ends[0]] if ends else steps


def all_runs(model, batch, max_length):
    """{mode: runs} for "forced" and "free": `plain` without error, what it `reads`, and `errors` by place.

    errors: {place as text: [[token, its probability, steps from that place on], ...]}; places count from 1. One error
    each: the token read there is another one, out of the likeliest at the step that wrote it.
    """
    target = [token for token in batch.target[0].tolist() if token != PAD]
    found = {}
    for mode, fed in (("forced", [BOS, *target[:-1]]), ("free", [BOS, *[OWN] * (max_length - 1)])):
        free = mode == "free"
        read, logits = (rows[0] for rows in walk(model, batch, [fed]))
        numbers(logits, "the model's logits", None, None)
        plain = run_of(logits, logits, free)
        length = len(plain)
        logits = logits[:length]
        places = [(at, token) for at in range(1, length) for token in others(logits[at - 1], read[at].item())]
        errors = {}
        if places:
            _, changed = walk(model, batch, [[*fed[:at], token, *fed[at + 1 :]] for at, token in places])
            for (at, token), scores in zip(places, changed, strict=True):
                share = rounded(logits[at - 1].softmax(dim=-1)[token].item())
                steps = run_of(scores[at:], logits[at:], free)
                errors.setdefault(str(at + 1), []).append([token, share, steps])
        found[mode] = {"plain": plain, "reads": read[:length].tolist(), "errors": errors}
    return found


def longest(run):
    """How many steps the longest run of a mode has, with or without an error."""
    changed = [int(place) - 1 + len(one[2]) for place, all_of in run["errors"].items() for one in all_of]
    return max([len(run["plain"]), *changed])


def ids_in(runs):
    """Every token that a run reads or writes, or that stands among its top five."""
    found = set()
    for run in runs.values():
        changed = [one for all_of in run["errors"].values() for one in all_of]
        found |= {*run["reads"], *(token for token, _, _ in changed)}
        for steps in (run["plain"], *(steps for _, _, steps in changed)):
            found |= {number for ids, _, _ in steps for number in ids}
    return found


def check(model, batch, vocabulary, max_length):
    """Raise where an argument does not fit: which, what was expected, what came."""
    if not (hasattr(model, "encode") and hasattr(model, "step")):
        raise TypeError(f"model: expected `encode` and `step`, as Seq2Seq has them, got {type(model).__name__}")
    if not isinstance(batch, Batch):
        raise TypeError(f"batch: expected a Batch, as make_batch gives it, got {type(batch).__name__}")
    if len(batch) != 1:
        raise ValueError(f"batch: expected one example, got {len(batch)}; make_batch(pairs[:1]) makes such a batch")
    if max_length not in range(1, MOST_STEPS + 1):
        raise ValueError(f"max_length: expected 1 to {MOST_STEPS} steps, got {max_length!r}")
    length = int((batch.target != PAD).sum())
    if length > MOST_STEPS:
        raise ValueError(f"batch: expected a target of at most {MOST_STEPS} tokens with EOS, got {length}")
    if not hasattr(vocabulary, "symbols"):
        raise TypeError(f"vocabulary: expected a Vocabulary (of the target), got {type(vocabulary).__name__}")
    width = walk(model, batch, [[BOS]])[1].shape[-1]
    if width != len(vocabulary):
        raise ValueError(f"vocabulary: expected the {width} symbols of the target, got {len(vocabulary)}")
