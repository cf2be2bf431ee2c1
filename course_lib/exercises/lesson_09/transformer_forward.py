"""Exercise `transformer_forward`: from ids to scores, the whole of figure 1 (Vaswani et al. 2017)."""

import functools
import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, on, rows_independent
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from . import transformer_forward_mask_mistakes as of_masks
from . import transformer_forward_mistakes as of_vectors
from . import transformer_forward_output_mistakes as of_the_output
from . import transformer_forward_stack_mistakes as of_stacks
from .make_masks import make_masks, sentences


def transformer_forward(
    source_ids, target_ids, pad, source_embedding, target_embedding, positions, encoder_blocks, decoder_blocks, W_out
):
    """Scores for the next token at every place of the target, from ids alone.

    source_ids: (B, S). target_ids: (B, T), the decoder's input. source_embedding: (V_s, D), target_embedding: (V_t, D),
    a row for each id; they are multiplied by √D, then positions (P, D) are added, row p at place p. encoder_blocks:
    tuple of functions (x, mask) -> x. decoder_blocks: tuple of functions (x, memory, target_mask, source_mask) -> x,
    where the memory is what the last encoder block returns. W_out: (D, V_t). Returns logits (B, T, V_t).
    """
    source_mask, target_mask = make_masks(source_ids, target_ids, pad)
    scale = source_embedding.shape[-1] ** 0.5
    memory = source_embedding[source_ids] * scale + positions[: source_ids.shape[1]]  # (B, S, D)
    for block in encoder_blocks:
        memory = block(memory, source_mask)
    x = target_embedding[target_ids] * scale + positions[: target_ids.shape[1]]  # (B, T, D)
    for block in decoder_blocks:
        x = block(x, memory, target_mask, source_mask)
    return x @ W_out


def make_head(generator, D):
    """Attention (x, memory, mask) -> (B, T, D) with random matrices. Without a mask it shows everything.

    So an answer that forgets to hand one on runs, and is told.
    """
    W_QK, W_V = (torch.randn(D, D, generator=generator, dtype=torch.float64) * 1.5 / D**0.5 for _ in range(2))

    def head(x, memory, mask):
        shown = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
        return masked_attention(x @ W_QK.to(x.dtype), memory, memory @ W_V.to(x.dtype), shown)[0]

    return head


def make_encoder_block(generator, D):
    """The least that is an encoder block: its tokens look at each other, with a shortcut, and are bent."""
    attend = make_head(generator, D)

    def encoder_block(x, mask=None):
        return torch.tanh(x + attend(x, x, mask))

    return encoder_block


def make_decoder_block(generator, D):
    """The same with a second look, at the memory."""
    attend, cross = make_head(generator, D), make_head(generator, D)

    def decoder_block(x, memory, target_mask=None, source_mask=None):
        x = x + attend(x, x, target_mask)
        return torch.tanh(x + cross(x, memory, source_mask))

    return decoder_block


def cases(generator):
    """One block each; then more, unlike and like in number; another pad; small sizes; V_s = V_t, S = T; all like."""

    def case(
        label, group, blocks, D, sources, targets, vocabularies=(46, 50), pad=0, room=3, front=False, gradient=True
    ):
        """blocks: how many encoder and decoder blocks. sources, targets: size, then the length of each sentence."""
        (S, *source_lengths), (T, *target_lengths) = sources, targets
        ids = [sentences(generator, S, *source_lengths, pad=pad, front=front),
               sentences(generator, T, *target_lengths, pad=pad, front=front)]  # fmt: skip
        # Deviation 1/√D, so that times √D the words are as large as the positions.
        tables = [torch.randn(V, D, generator=generator, dtype=torch.float64) / D**0.5 for V in vocabularies]
        positions = torch.randn(max(S, T) + room, D, generator=generator, dtype=torch.float64)
        encoder_blocks = tuple(make_encoder_block(generator, D) for _ in range(blocks[0]))
        decoder_blocks = tuple(make_decoder_block(generator, D) for _ in range(blocks[1]))
        W_out = torch.randn(D, vocabularies[1], generator=generator, dtype=torch.float64)
        args = (*ids, pad, *tables, positions, encoder_blocks, decoder_blocks, W_out)
        return Case(label, args, {}, group, gradient)

    yield case("one block each, nothing padded", "padding", (1, 1), 4, (5, 5, 5), (3, 3, 3), room=5)
    yield case("one block each, padding", "padding", (1, 1), 6, (5, 3, 5, 4), (4, 4, 2, 3))
    yield case("two encoder blocks, three decoder blocks", "more blocks", (2, 3), 4, (4, 4, 3), (5, 5, 3))
    yield case("three blocks each", "as many blocks", (3, 3), 5, (5, 5, 4), (3, 2, 3))
    yield case("padding id 7, and 0 is a word", "another id", (1, 1), 4, (4, 4, 2), (5, 3, 5), pad=7, gradient=False)
    yield case("one sentence, one target token", "one token", (1, 1), 6, (3, 2), (1, 1))
    yield case("one source token, two encoder blocks", "one token", (2, 1), 5, (1, 1, 1), (3, 3, 2), gradient=False)
    yield case("S = T", "S = T", (1, 1), 6, (4, 4, 2, 3), (4, 3, 4, 4))
    yield case("S = T, V_s = V_t", "all like", (1, 1), 4, (4, 3, 4), (4, 4, 2), (42, 42), gradient=False)
    yield case(
        "padding in front, no position to spare", "in front", (1, 1), 4, (4, 4, 2), (3, 2, 3), room=0, front=True
    )
    yield case("a source of padding alone", "nothing real", (1, 1), 6, (3, 3, 0), (4, 4, 3), gradient=False)


def by_reduce(
    source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out
):
    """torch's own lookup, the scale in the table, the blocks folded."""
    D = positions.shape[1]
    places = [functional.embedding(torch.arange(ids.shape[1]), positions) for ids in (source_ids, target_ids)]
    source, target = (
        functional.embedding(ids, table * math.sqrt(D)) + place
        for ids, table, place in ((source_ids, source_table, places[0]), (target_ids, target_table, places[1]))
    )
    masks = make_masks(source_ids, target_ids, pad)
    memory = functools.reduce(lambda x, block: block(x, masks[0]), encoder_blocks, source)
    x = functools.reduce(lambda x, block: block(x, memory, masks[1], masks[0]), decoder_blocks, target)
    return functional.linear(x, W_out.T)


def by_one_hot(
    source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out
):
    """A lookup is a product with a one-hot vector; masks by comparisons; the stacks by recursion."""

    def embed(ids, table):
        chosen = functional.one_hot(ids, len(table)).to(table.dtype)
        place = torch.eye(ids.shape[1], len(positions), dtype=table.dtype)
        return torch.einsum("bnv,vd->bnd", chosen, table).mul(table.shape[1] ** 0.5) + place @ positions

    def run(blocks, x, *others):
        return run(blocks[1:], blocks[0](x, *others), *others) if blocks else x

    source_mask = (source_ids != pad)[:, None, :]
    place = torch.arange(target_ids.shape[1])
    target_mask = (target_ids != pad)[:, None, :] & (place[:, None] >= place)
    memory = run(encoder_blocks, embed(source_ids, source_table), source_mask)
    return torch.einsum("btd,dv->btv", run(decoder_blocks, embed(target_ids, target_table), memory, target_mask,
                                           source_mask), W_out)  # fmt: skip


def by_prefixes(
    source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out
):
    """As when a model writes: for each place only the tokens up to it, and of the result only the last row."""

    def embed(ids, table):
        return torch.stack([table[column] * table.shape[1] ** 0.5 + positions[n] for n, column in enumerate(ids.T)], 1)

    source_mask = source_ids.ne(pad).unsqueeze(1)
    memory = embed(source_ids, source_table)
    for block in encoder_blocks:
        memory = block(memory, source_mask)
    rows = []
    for t in range(1, target_ids.shape[1] + 1):
        x = embed(target_ids[:, :t], target_table)
        target_mask = torch.tril(target_ids[:, None, :t].ne(pad).expand(-1, t, -1))
        for block in decoder_blocks:
            x = block(x, memory, target_mask, source_mask)
        rows.append(x[:, -1] @ W_out)
    return torch.stack(rows, dim=1)


def by_sentence(
    source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out
):
    """Each sentence alone and without its source padding, which then needs no mask."""
    logits = []
    for source, target in zip(source_ids, target_ids, strict=True):
        kept = source != pad
        memory = (source_table[source] * len(W_out) ** 0.5 + positions[: len(source)])[kept].unsqueeze(0)
        masks = make_masks(source[kept].unsqueeze(0), target.unsqueeze(0), pad)
        for block in encoder_blocks:
            memory = block(memory, masks[0])
        x = (target_table[target] * len(W_out) ** 0.5 + positions[: len(target)]).unsqueeze(0)
        for block in decoder_blocks:
            x = block(x, memory, masks[1], masks[0])
        logits.append(x[0] @ W_out)
    return torch.stack(logits)


def _future(function, cases, generator):
    for case in cases:
        source, target, pad, *rest = case.args
        before = call(function, case)
        for j in range(1, target.shape[1]):
            other = target.clone()
            other[:, j] = torch.where(target[:, j] == pad + 1, pad + 2, pad + 1)
            after = call(function, Case(case.label, (source, other, pad, *rest)))
            if not close(before[:, :j], after[:, :j]):
                return f"another target token at place {j} changes scores before it ({case.label})"
    return None


def _source_padding(function, cases, generator):
    for case in cases:
        source, target, pad, _, _, positions, *_ = case.args
        room = len(positions) - source.shape[1]
        longer = torch.cat([source, torch.full_like(source[:, :1], pad).expand(-1, room)], dim=1)
        if not close(call(function, case), call(function, Case(case.label, (longer, *case.args[1:])))):
            return f"more padding behind the source changes the scores ({case.label})"
    return None


def briefly(law):
    """The law on two cases, one with several blocks: a call asks every block, and these may be far away."""
    chosen = ("one block each, padding", "two encoder blocks, three decoder blocks")
    return on(law, lambda case: case if case.label in chosen else None)


EXERCISE = Exercise(
    name="transformer_forward",
    reference=transformer_forward,
    cases=cases,
    laws=(
        briefly(Law("the future does not matter", _future, "By which way does a later word reach an earlier place?")),
        briefly(Law("padding of the source does not matter", _source_padding, "Who reads it, and with which mask?")),
        briefly(rows_independent({0, 1})),
    ),
    mistakes=of_vectors.MISTAKES + of_stacks.MISTAKES + of_masks.MISTAKES + of_the_output.MISTAKES,
    accepts=(by_reduce, by_one_hot, by_prefixes, by_sentence),
    hints=(
        "Four lines of figure 1 from below: masks, the source up its stack, the target up its stack, the scores.",
        "`source_embedding[source_ids]` is (B, S, D). Times √D; then the first S rows of `positions`, for all "
        "sentences alike.",
        "`for block in encoder_blocks: memory = block(memory, source_mask)`: each block reads the one before.",
        "Every decoder block gets the same memory, the finished one: `x = block(x, memory, target_mask, source_mask)`.",
    ),
    minutes=15,
    difficulty=3,
    points=4,
)  # fmt: skip
