"""What people write for `transformer_forward` instead: from ids to vectors."""

from torch.nn import functional

from course_lib.checking import mistake

from .make_masks import make_masks


def bare(ids, table, positions):
    """Words as they are, plus positions: half of the wrong embeddings. Returns (B, N, D)."""
    return table[ids] + positions[: ids.shape[1]]


def embed(ids, table, positions):
    """Vectors (B, N, D) of ids (B, N)."""
    return bare(ids, table * table.shape[-1] ** 0.5, positions)


def encode(blocks, x, mask):
    """x (B, S, D) up the encoder's blocks."""
    for block in blocks:
        x = block(x, mask)
    return x


def decode(blocks, x, memory, target_mask, source_mask):
    """x (B, T, D) up the decoder's blocks."""
    for block in blocks:
        x = block(x, memory, target_mask, source_mask)
    return x


def assembled(source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out,
              masks=make_masks, embed_source=embed, embed_target=embed, encode=encode, decode=decode):  # fmt: skip
    """The Transformer with its parts exchangeable: what the wrong versions share."""
    source_mask, target_mask = masks(source_ids, target_ids, pad)
    memory = encode(encoder_blocks, embed_source(source_ids, source_table, positions), source_mask)
    x = decode(decoder_blocks, embed_target(target_ids, target_table, positions), memory, target_mask, source_mask)
    return x @ W_out


def embedded(*arguments, how):
    """Both sides embedded by how(ids, table, positions)."""
    return assembled(*arguments, embed_source=how, embed_target=how)


@mistake(
    "The embeddings meet the positions as small as they are, and the place drowns the word. By what does section 3.4 "
    "multiply them first?",
    source="the factor of section 3.4 is half a sentence long; many tutorials leave it out",
)
def not_scaled(*arguments):
    return embedded(*arguments, how=bare)


@mistake(
    "The target's embeddings are scaled, the source's are not. Do the two sides get into the model in different ways?",
    source="the factor added on one of two lines",
)
def source_not_scaled(*arguments):
    return assembled(*arguments, embed_source=bare)


@mistake(
    "The source's embeddings are scaled, the target's are not. On which line did √D get lost?",
    source="the factor added on one of two lines",
)
def target_not_scaled(*arguments):
    return assembled(*arguments, embed_target=bare)


@mistake(
    "The embeddings are divided by √D: that belongs to the scores of attention, which are too large. "
    "Are these vectors too large or too small beside the positions?",
    source="C11",
)
def divided(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: bare(ids, table / table.shape[-1] ** 0.5, places))


@mistake(
    "The factor is D, not its root: now the word drowns the place. What does the square root leave of D?",
    source="E-scale's kin: √ left out",
)
def scaled_by_width(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: bare(ids, table * table.shape[-1], places))


@mistake(
    "The factor is the root of the number of words: the first axis of the table was measured. Which axis of (V, D) "
    "says how wide a vector is?",
    source="`len(table) ** 0.5`, or `shape[0]`",
)
def scaled_by_vocabulary(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: bare(ids, table * len(table) ** 0.5, places))


@mistake(
    "One factor for both sides, and it is the root of the number of source words. Every vector here has D numbers: "
    "which axis of a table tells you D?",
    source="`scale = source_embedding.shape[0] ** 0.5`, used on both lines",
)
def scaled_by_the_sources_vocabulary(source_ids, target_ids, pad, source_table, *others):
    V = len(source_table)
    arguments = source_ids, target_ids, pad, source_table, *others
    return embedded(*arguments, how=lambda ids, table, places: bare(ids, table * V**0.5, places))


@mistake(
    "The sum is scaled, positions and all: their ratio is what it would be without any factor. What has to be "
    "multiplied before the positions come in?",
    source="`x = (embedding + positions) * math.sqrt(d_model)`: brackets, or the lines in the other order",
)
def scaled_after_adding(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: bare(ids, table, places) * table.shape[-1] ** 0.5)


@mistake(
    "No position is added anywhere: both sentences are bags of words. Which argument do you never read?",
    source="lesson 7's point: nothing raises without positions",
)
def positions_left_out(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: embed(ids, table, 0 * places))


@mistake(
    "The source has no positions: the encoder cannot tell 'dog bites man' from 'man bites dog'. On how many of its "
    "two sides does figure 1 add a wave?",
    source="positions added in the decoder, where order is thought of first",
)
def source_without_positions(*arguments):
    return assembled(*arguments, embed_source=lambda ids, table, places: embed(ids, table, 0 * places))


@mistake(
    "The target has no positions. Does the triangle of the mask alone tell a token which one of those before it came "
    "last?",
    source="'the causal mask knows the order already'",
)
def target_without_positions(*arguments):
    return assembled(*arguments, embed_target=lambda ids, table, places: embed(ids, table, 0 * places))


@mistake(
    "Positions begin at 1: row 0 of the table is never read. Which row belongs to the first token?",
    source="fairseq and RoBERTa keep the first rows for the padding; 'the first word'",
)
def positions_from_one(*arguments):
    return embedded(*arguments, how=lambda ids, table, places: embed(ids, table, places[1:]))


@mistake(
    "The target goes on counting where the source stopped, as if both were one text. At which place does the "
    "translation of a first word stand?",
    source="one counter for both sides, right in models that read source and target as one sequence",
)
def target_counted_on(source_ids, *others):
    S = source_ids.shape[1]
    return assembled(source_ids, *others, embed_target=lambda ids, table, places: embed(ids, table, places[S:]))


@mistake(
    "Positions run along the batch: all words of a sentence get one vector, each sentence another one. Which axis "
    "of (B, N, D) is the place in the sentence?",
    source="A072",
)
def positions_along_the_batch(*arguments):
    def how(ids, table, places):
        return table[ids] * table.shape[-1] ** 0.5 + places[: len(ids)].unsqueeze(1)  # (B, 1, D)

    return embedded(*arguments, how=how)


@mistake(
    "Words and positions are multiplied: a position near 0 wipes a word out. Which operation moves a vector and "
    "keeps it recognisable?",
    source="'the position weighs the word'",
)
def positions_multiplied(*arguments):
    def how(ids, table, places):
        return table[ids] * table.shape[-1] ** 0.5 * places[: ids.shape[1]]

    return embedded(*arguments, how=how)


@mistake(
    "Positions are added in front of every block, not only of the first: the shortcuts carry them up already. How "
    "often does figure 1 add them?",
    source="some models do that (DETR's queries); a line that slipped into the loop",
)
def positions_in_every_block(*arguments):
    positions = arguments[5]

    def added(block):
        return lambda x, *others: block(x + positions[: x.shape[1]], *others)

    stacks = ((blocks[0], *map(added, blocks[1:])) for blocks in arguments[6:8])
    return assembled(*arguments[:6], *stacks, arguments[8])


@mistake(
    "The source ids are looked up in the target's table: each word of one language becomes some word of the other. "
    "Which vocabulary gave these ids?",
    source="one embedding made for both, which is right only where they share a vocabulary (section 3.4)",
)
def target_table_for_both(source_ids, target_ids, pad, source_table, target_table, *others):
    return assembled(source_ids, target_ids, pad, target_table, target_table, *others)


@mistake(
    "The target ids are looked up in the source's table. In which language does the decoder read?",
    source="the line of the encoder copied, its table left as it was",
)
def source_table_for_both(source_ids, target_ids, pad, source_table, target_table, *others):
    return assembled(source_ids, target_ids, pad, source_table, source_table, *others)


@mistake(
    "The two tables have changed places. Each row belongs to one id of one vocabulary: whose ids meet which table?",
    source="`embedding_1`, `embedding_2`; both are (V, D)",
)
def tables_exchanged(source_ids, target_ids, pad, source_table, target_table, *others):
    return assembled(source_ids, target_ids, pad, target_table, source_table, *others)


@mistake(
    "The values are right, but `padding_idx` keeps one row of each table from learning. The masks and the loss leave "
    "padding out by themselves: what is left for it to do?",
    source="`nn.Embedding(..., padding_idx=pad)` out of habit",
)
def padding_row_frozen(source_ids, target_ids, pad, *others):
    def how(ids, table, places):
        return functional.embedding(ids, table, padding_idx=pad) * table.shape[-1] ** 0.5 + places[: ids.shape[1]]

    return embedded(source_ids, target_ids, pad, *others, how=how)


MISTAKES = (
    not_scaled, source_not_scaled, target_not_scaled, divided, scaled_by_width, scaled_by_vocabulary,
    scaled_by_the_sources_vocabulary, scaled_after_adding, positions_left_out, source_without_positions,
    target_without_positions, positions_from_one, target_counted_on, positions_along_the_batch, positions_multiplied,
    positions_in_every_block, target_table_for_both, source_table_for_both, tables_exchanged, padding_row_frozen,
)  # fmt: skip
