"""What people write for `transformer_forward` instead: which block runs, and what it reads."""

from course_lib.checking import mistake

from .transformer_forward_mistakes import assembled, encode


@mistake(
    "The encoder never runs: the decoder reads the source's embeddings, words that know nothing of each other. "
    "What stands between the embeddings and the memory?",
    source="`memory` assigned before the loop, which then fills another variable",
)
def memory_is_the_embedding(*arguments):
    return assembled(*arguments, encode=lambda blocks, x, mask: x)


@mistake(
    "The memory is taken after the first encoder block; those above it work for nobody. Which block of the encoder "
    "has an arrow to the decoder in figure 1?",
    source="a `break` or an indent too many; with one block it is right",
)
def memory_of_the_first_block(*arguments):
    return assembled(*arguments, encode=lambda blocks, x, mask: blocks[0](x, mask))


@mistake(
    "Each decoder block reads the encoder block of its own height. That is a common reading of figure 1, where the two "
    "stacks stand side by side. How often is the arrow between them drawn, and where does it leave the encoder?",
    source="figure 1, whose boxes are marked N× and stand level; U-nets connect like that",
)
def height_by_height(*arguments):
    def every_height(blocks, x, mask):
        return [x := block(x, mask) for block in blocks]

    def level(blocks, x, memories, target_mask, source_mask):
        for i, block in enumerate(blocks):
            x = block(x, memories[i], target_mask, source_mask)
        return x

    return assembled(*arguments, encode=every_height, decode=level)


@mistake(
    "Both stacks climb in one loop: a decoder block reads an encoder that has not finished, and `zip` leaves out what "
    "the longer stack has more. How much of the source is to be read before the first word is written?",
    source="figure 1 as in `height_by_height`, written as `for e, d in zip(encoder_blocks, decoder_blocks)`",
)
def stacks_zipped(*arguments):
    def climb(decoder_blocks, x, memory, target_mask, source_mask):
        for encoder_block, decoder_block in zip(arguments[6], decoder_blocks, strict=False):
            memory = encoder_block(memory, source_mask)
            x = decoder_block(x, memory, target_mask, source_mask)
        return x

    return assembled(*arguments, encode=lambda blocks, x, mask: x, decode=climb)


@mistake(
    "One block does the work of all: the first of each stack, called again and again. The others never learn. "
    "Which name does your loop give to the block of this turn?",
    source="A097: `blocks[0]` in the loop; `[block] * N`",
)
def first_block_again(*arguments):
    stacks = ([blocks[0]] * len(blocks) for blocks in arguments[6:8])
    return assembled(*arguments[:6], *stacks, arguments[8])


@mistake(
    "The last block of each stack is called as often as there are blocks: the loop's variable is the same in every "
    "turn. Which one should work first?",
    source="A097: closures or a name that keep what the loop left behind",
)
def last_block_again(*arguments):
    stacks = ([blocks[-1]] * len(blocks) for blocks in arguments[6:8])
    return assembled(*arguments[:6], *stacks, arguments[8])


@mistake(
    "Only the first block of each stack is called. The paper has six on each side: how many has this call?",
    source="written for one block, where it is right",
)
def first_block_alone(*arguments):
    return assembled(*arguments[:6], *(blocks[:1] for blocks in arguments[6:8]), arguments[8])


@mistake(
    "Every block starts from the embeddings again, and only what the last one makes is kept. What should a block read, "
    "the input of the stack or the output of the block below?",
    source="`out = block(x, mask)` in the loop: `x` is never replaced",
)
def blocks_not_chained(*arguments):
    return assembled(*arguments[:6], *(blocks[-1:] for blocks in arguments[6:8]), arguments[8])


@mistake(
    "The decoder climbs its stack, the encoder does not: each of its blocks starts from the embeddings again, and the "
    "last one alone is kept. Which two names stand on the line in your encoder's loop, and which should?",
    source="`memory = block(x, source_mask)` in the loop: one name for what goes in, one for what comes out",
)
def encoder_not_chained(*arguments):
    return assembled(*arguments, encode=lambda blocks, x, mask: blocks[-1](x, mask))


@mistake(
    "A second shortcut goes around every block: x + block(x). The block adds what came in by itself; how often should "
    "x be in the sum?",
    source="`x = x + block(x)` of the sub-layers, written once more one level up",
)
def shortcut_around_the_blocks(*arguments):
    def around(block):
        return lambda x, *others: x + block(x, *others)

    return assembled(*arguments[:6], *(tuple(map(around, blocks)) for blocks in arguments[6:8]), arguments[8])


@mistake(
    "The memory is added to the decoder's input as well. With S = T it fits, word by word, as if both languages had "
    "one order. Which step of a decoder block is the source's only way in?",
    source="the two stacks joined by a plus, as in an encoder with skips",
)
def memory_added(*arguments):
    def joined(blocks, x, memory, *masks):
        return encode([lambda x, _, block=block: block(x, memory, *masks) for block in blocks], x + memory, None)

    return assembled(*arguments, decode=joined)


@mistake(
    "The decoder's own x is handed to its blocks as the memory: no word of the source reaches the scores. With T = S "
    "nothing complains. Which of your variables is never read?",
    source="A093, one level up",
)
def memory_never_read(*arguments):
    def alone(blocks, x, memory, *masks):
        for block in blocks:
            x = block(x, x, *masks)
        return x

    return assembled(*arguments, decode=alone)


@mistake(
    "The decoder blocks get memory and x in the other order: the source is written on, and the target is looked up. "
    "What comes first in (x, memory, target_mask, source_mask)?",
    source="'from, to'; both are (B, N, D), and with S = T it runs",
)
def x_and_memory_exchanged(*arguments):
    def turned(blocks, x, memory, *masks):
        for block in blocks:
            x = block(memory, x, *masks)
        return x

    return assembled(*arguments, decode=turned)


@mistake(
    "The scores are right, but nothing behind the memory gets a gradient: the encoder would stay as it was drawn. "
    "When is a memory without gradient enough, in training or while writing?",
    source="`with torch.no_grad()` around the encoder, from code that only translates",
)
def encoder_without_gradient(*arguments):
    return assembled(*arguments, encode=lambda *stack: encode(*stack).detach())


MISTAKES = (
    memory_is_the_embedding, memory_of_the_first_block, height_by_height, stacks_zipped, first_block_again,
    last_block_again, first_block_alone, blocks_not_chained, encoder_not_chained, shortcut_around_the_blocks,
    memory_added, memory_never_read, x_and_memory_exchanged, encoder_without_gradient,
)  # fmt: skip
