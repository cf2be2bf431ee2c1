"""Exercise `greedy_search`: the likeliest token at every step, and how likely the text is that comes of it."""

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close
from course_lib.checking.tree import tree_map

from .greedy_search_mistakes import MISTAKES


def greedy_search(step, state, batch_size, bos, eos, pad, max_length):
    """The likeliest token at every step, and how likely the whole text is.

    step: function (token (B,), state) -> (logits (B, V), state). state: whatever `step` understands. bos, eos, pad:
    token ids. Returns ids (B, max_length), each row up to and with its `eos`, then `pad`; and scores (B,), the
    log-probability of each text: the sum over its tokens, `eos` among them.
    """
    token = torch.full((batch_size,), bos)
    finished = torch.zeros(batch_size, dtype=torch.bool)
    ids, scores = torch.full((batch_size, max_length), pad), torch.zeros(batch_size)
    for t in range(max_length):
        logits, state = step(token, state)
        log_p, token = logits.log_softmax(dim=-1).max(dim=-1)  # (B,) each
        ids[:, t] = token.masked_fill(finished, pad)
        scores = scores + log_p.masked_fill(finished, 0.0)
        finished = finished | (token == eos)
        if finished.all():
            break
    return ids, scores


# How a decoder keeps its vector h (B, H): from it to a state, and back.
STATES = {
    "one tensor": (lambda h: h, lambda state: state),
    "a tuple": (lambda h: h.chunk(2, dim=-1), lambda state: torch.cat(state, dim=-1)),
    "a dict": (lambda h: {"h": h}, lambda state: state["h"]),
    "layers first": (lambda h: torch.stack(h.chunk(2, dim=-1)), lambda state: torch.cat(state.unbind(0), dim=-1)),
}
H = 6


def make_step(generator, V, eos, rare, push=0.0, contrast=0.0, kept="one tensor"):
    """A recurrent decoder with random matrices: its state knows every token that was fed, in order.

    So one wrong token, or the state of another text, changes all the logits that follow. Unlike the decoder of
    lesson 1, whose ends are certain, every token costs something here, the end too.

    push: what `eos` gets on top of its logit. rare: ids that are hardly ever written. contrast: how much surer of the
    next token it is in some states than in others. kept: one of STATES.
    """
    read, say = 1.5 * torch.randn(2, V, H, generator=generator, dtype=torch.float64)
    W = torch.randn(H, H, generator=generator, dtype=torch.float64) * 1.5 / H**0.5
    offset = torch.zeros(V, dtype=torch.float64)
    offset[list(rare)], offset[eos] = -12.0, push
    weights = {dtype: [w.to(dtype) for w in (read, W, say.T, offset)] for dtype in (torch.float32, torch.float64)}
    pack, unpack = STATES[kept]

    def step(token, state):
        h = unpack(state)
        read, W, say, offset = weights[h.dtype]
        # Rows that have ended may be fed anything: there is a vector for every id.
        h = torch.tanh(read[token % V] + h @ W)  # (B, H)
        logits = h @ say  # (B, V)
        if contrast:
            logits = logits * torch.exp(contrast * h[:, :1])
        return logits + offset, pack(h)

    return step


def make_state(generator, batch_size, kept="one tensor"):
    return STATES[kept][0](torch.randn(batch_size, H, generator=generator, dtype=torch.float64))


def select_rows(state, rows):
    """The state of these rows, any of them repeated. In all STATES the rows lie along the axis before the last."""
    return tree_map(lambda leaf: leaf.index_select(-2, torch.as_tensor(rows)), state)


NEVER = 0


def cases(generator):
    """Rows that end early, late and never; states of every kind; other ids; B = V; one token. Lengths count the end."""

    def case(label, group, lengths, V, max_length, bos=1, eos=2, pad=0, kept="one tensor"):
        """lengths: of the texts that are wanted. Decoders are drawn until one writes them all."""
        while True:
            step = make_step(generator, V, eos, {bos, pad}, push=0.4, kept=kept)
            state = make_state(generator, 40, kept)
            ends = greedy_search(step, state, 40, bos, eos, pad, max_length)[0] == eos  # (40, max_length)
            found = torch.where(ends.any(dim=1), ends.int().argmax(dim=1) + 1, NEVER).tolist()
            if set(lengths) <= set(found):
                break
        state = select_rows(state, [found.index(length) for length in lengths])
        args = (step, state, len(lengths), bos, eos, pad, max_length)
        return Case(label, args, {}, group, gradient=False)

    yield case("one sentence, no end within 4 tokens", "one sentence", [NEVER], 9, 4)
    yield case("one sentence that ends early", "one sentence", [3], 8, 5)
    yield case("ends after 1, 3 and 5 tokens, and never", "several sentences", [1, 3, 5, NEVER], 9, 6)
    yield case("all end early", "several sentences", [2, 4, 1], 7, 6)
    yield case("a state of two tensors, one sentence", "any state", [2], 6, 5, kept="a tuple")
    yield case("a state of two tensors", "any state", [1, NEVER, 3], 8, 4, kept="a tuple")
    yield case("a state with its layers first", "any state", [NEVER, 4, 2], 7, 5, kept="layers first")
    yield case("a state in a dict", "any state", [2, 3, NEVER, 4], 6, 5, kept="a dict")
    yield case("other ids for start, end and padding", "other ids", [3, 1, NEVER], 8, 4, bos=5, eos=6, pad=7)
    yield case("as many rows as tokens", "B = V", [2, NEVER, 4, 1, 3, 2], 6, 5)
    yield case("room for one token", "one token", [NEVER, 1], 7, 1)


def gathered_afterwards(step, state, batch_size, bos, eos, pad, max_length):
    """First all steps, then all texts: what stands behind an end is cut off in one go."""
    token, all_logits, columns = torch.full((batch_size,), bos), [], []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(-1)
        all_logits.append(logits)
        columns.append(token)
    ids, log_p = torch.stack(columns, 1), functional.log_softmax(torch.stack(all_logits, 1), -1)
    is_end = (ids == eos).long()
    cut = is_end.cumsum(1) - is_end > 0
    scores = log_p.gather(-1, ids[..., None])[..., 0].masked_fill(cut, 0).sum(1)
    return ids.masked_fill(cut, pad), scores


def row_by_row_afterwards(step, state, batch_size, bos, eos, pad, max_length):
    """Lists and floats; a row is read until its end."""
    token, steps = torch.full((batch_size,), bos), []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = torch.tensor([max(range(len(row)), key=row.__getitem__) for row in logits.tolist()])
        steps.append((token.tolist(), (logits - logits.exp().sum(-1, keepdim=True).log()).tolist()))
    ids, scores = [], []
    for b in range(batch_size):
        text, total = [], 0.0
        for tokens, log_p in steps:
            text.append(tokens[b])
            total += log_p[b][tokens[b]]
            if tokens[b] == eos:
                break
        ids.append(text + [pad] * (max_length - len(text)))
        scores.append(total)
    return torch.tensor(ids), torch.tensor(scores)


def feeding_padding(step, state, batch_size, bos, eos, pad, max_length):
    """Finished rows are fed padding; the score is the largest logit less the logarithm of the sum."""
    token, columns, scores = torch.tensor([bos] * batch_size), [], 0.0
    going = torch.ones(batch_size, dtype=torch.bool)
    while len(columns) < max_length:
        logits, state = step(token, state)
        top = logits.topk(1)
        scores = scores + going * (top.values[:, 0] - logits.logsumexp(-1))
        token = torch.where(going, top.indices[:, 0], pad)
        columns.append(token)
        going = going & token.ne(eos)
    return torch.stack(columns, 1), scores


def logarithm_of_the_product(step, state, batch_size, bos, eos, pad, max_length):
    """Probabilities multiplied, by 1 behind the end, and one logarithm at last."""
    token, finished = torch.full([batch_size], bos), torch.full([batch_size], False)
    ids, factors = torch.empty(batch_size, 0, dtype=torch.long), [torch.ones(batch_size)]
    for _ in range(max_length):
        logits, state = step(token, state)
        p, token = torch.softmax(logits, 1).sort(dim=1, descending=True)
        token = token[:, 0]
        factors.append(torch.where(finished, 1.0, p[:, 0]))
        ids = torch.cat([ids, torch.where(finished, pad, token)[:, None]], 1)
        finished |= token == eos
    return ids, torch.stack(factors).prod(0).log()


def by_cross_entropy(step, state, batch_size, bos, eos, pad, max_length):
    """The loss of the tokens that were chosen, negative; a finished row's target is ignored."""
    token = torch.full((batch_size,), bos)
    ids, losses = torch.full((max_length, batch_size), pad), torch.zeros(max_length, batch_size)
    for t in range(max_length):
        logits, state = step(token, state)
        token = logits.max(-1).indices
        ended = (ids[:t] == eos).any(0)
        losses[t] = functional.cross_entropy(logits, token.masked_fill(ended, -1), reduction="none", ignore_index=-1)
        ids[t] = token.masked_fill(ended, pad)
    return ids.T, -losses.sum(0)


def log_probability(step, state, bos, text):
    """What a decoder gives to one text, a list of ids, token by token. state: of one row."""
    total = 0.0
    for fed, written in zip([bos, *text], text, strict=False):
        logits, state = step(torch.tensor([fed]), state)
        total += logits.log_softmax(dim=-1)[0, written]
    return total


def up_to_the_end(row, eos):
    """A row of ids as a list, up to and with its first `eos`."""
    row = row.tolist()
    return row[: row.index(eos) + 1] if eos in row else row


def _scores_of_the_texts(function, cases, generator):
    for case in cases:
        step, state, batch_size, bos, eos, *_ = case.args
        ids, scores = call(function, case)
        for b in range(batch_size):
            if not close(scores[b], log_probability(step, select_rows(state, [b]), bos, up_to_the_end(ids[b], eos))):
                return f"the score of row {b} is not the log-probability of the text in that row ({case.label})"
    return None


def _rows_alone(function, cases, generator):
    for case in cases:
        step, state, batch_size, *rest = case.args
        ids, scores = call(function, case)
        for b in range(batch_size):
            own_ids, own_score = call(function, Case(case.label, (step, select_rows(state, [b]), 1, *rest)))
            if not (close(own_ids[0], ids[b]) and close(own_score[0], scores[b])):
                return f"row {b} of the batch gives something else when it is alone ({case.label})"
    return None


EXERCISE = Exercise(
    name="greedy_search",
    reference=greedy_search,
    cases=cases,
    laws=(
        Law("the score is that of the text", _scores_of_the_texts,
            "Which tokens of this row are counted, and what does each of them add?"),
        Law("batch rows are independent", _rows_alone, "Which line lets one row of the batch change another?"),
    ),
    mistakes=MISTAKES,
    accepts=(
        gathered_afterwards, row_by_row_afterwards, feeding_padding, logarithm_of_the_product, by_cross_entropy,
    ),
    hints=(
        "It is `greedy_decode` of lesson 1 with a sum beside it: begin with `scores = torch.zeros(batch_size)`.",
        "`logits.log_softmax(dim=-1).max(dim=-1)` gives two things at once: the log-probability of the likeliest "
        "token, which is added, and its id, which is written.",
        "A row that has ended adds nothing: `log_p.masked_fill(finished, 0.0)`. The end itself still counts, so "
        "`finished` changes after both lines.",
    ),
    minutes=10,
    difficulty=2,
    points=2,
)  # fmt: skip
