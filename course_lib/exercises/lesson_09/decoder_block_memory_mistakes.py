"""What people write for `decoder_block` instead: who asks in cross-attention, and who answers."""

from course_lib.checking import mistake
from course_lib.exercises.lesson_08.residual import residual

from .decoder_block_mistakes import block


def crossing(how):
    """A block whose middle step is how(cross_attention, x, memory, source_mask), x as the step gets it."""

    def changed(x, memory, target_mask, source_mask, self_attention, cross_attention, *others):
        def middle(query, *_):
            return how(cross_attention, query, memory, source_mask)

        return block(x, memory, target_mask, source_mask, self_attention, middle, *others)

    return changed


@mistake(
    "Cross-attention takes keys and values from the decoder: the memory is never read, and the model learns to go on "
    "with its own sentence, whatever the source says. Who has to answer in the middle step?",
    source="A093",
)
def memory_never_read(*arguments):
    return crossing(lambda cross, x, memory, mask: cross(x, x, x, mask))(*arguments)


@mistake(
    "The middle step is self-attention once more, target mask and all: it runs with any length, and no word of the "
    "source reaches the result. Which two of your block's arguments are never read?",
    source="A093: the line above copied, only the module exchanged",
)
def self_attention_twice(x, memory, target_mask, source_mask, *others):
    changed = crossing(lambda cross, x, memory, mask: cross(x, x, x, target_mask))
    return changed(x, memory, target_mask, source_mask, *others)


@mistake(
    "Keys come from the memory, values from the decoder: the right place of the source is found, and then the "
    "decoder's own word is handed over. What should be taken from the place that was found?",
    source="A093, half of it; T = S lets it run",
)
def values_from_the_decoder(*arguments):
    return crossing(lambda cross, x, memory, mask: cross(x, memory, x, mask))(*arguments)


@mistake(
    "Values come from the memory, keys from the decoder: it searches its own sentence and takes what stands at the "
    "same place of the source. In which of the two should it search?",
    source="A093, half of it; T = S lets it run",
)
def keys_from_the_decoder(*arguments):
    return crossing(lambda cross, x, memory, mask: cross(x, x, memory, mask))(*arguments)


@mistake(
    "The roles have changed: the memory asks, and the decoder answers. Who is looking for something while a "
    "translation is written?",
    source="the arguments read as 'from, to'; T = S lets it run",
)
def roles_exchanged(*arguments):
    return crossing(lambda cross, x, memory, mask: cross(memory, x, x, mask))(*arguments)


@mistake(
    "The memory asks itself: the target has no say in where to look. From which argument comes the query?",
    source="the encoder's line pasted into the decoder; T = S lets it run",
)
def memory_asks_itself(*arguments):
    return crossing(lambda cross, x, memory, mask: cross(memory, memory, memory, mask))(*arguments)


@mistake(
    "The module of the self-attention is called a second time for the memory; `cross_attention` is never called, so "
    "half of the weights never learn. Which function belongs to the middle step?",
    source="A094",
)
def self_module_again(x, memory, target_mask, source_mask, self_attention, cross_attention, *others):
    return block(x, memory, target_mask, source_mask, self_attention, self_attention, *others)


@mistake(
    "The two modules have changed places: `cross_attention` looks at the target, `self_attention` at the memory. A new "
    "model would not mind, but weights that were learned would. Which name fits which line?",
    source="A094's sister: two attentions with one signature",
)
def modules_exchanged(x, memory, target_mask, source_mask, self_attention, cross_attention, *others):
    return block(x, memory, target_mask, source_mask, cross_attention, self_attention, *others)


@mistake(
    "This is an encoder block with the target mask: the middle step is missing, and what the source says never arrives "
    "here. Through which of the three steps does it come in?",
    source="`encoder_block(x, target_mask, ...)` of lesson 8, called again; that makes a GPT",
)
def encoder_block_again(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, _, *order):
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, *order)
    return residual(x, feed_forward, norm_2, *order)


@mistake(
    "The middle step is missing or its result is dropped: after self-attention comes the feed-forward with norm_3, and "
    "norm_2 has nothing to do. Which variable should hold what cross-attention gives?",
    source="A045's kin: `residual(...)` called, its result not assigned; the next line goes on with the old x",
)
def cross_attention_dropped(
    x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, _, norm_3, *order
):
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, *order)
    return residual(x, feed_forward, norm_3, *order)


@mistake(
    "The result of self-attention is dropped: cross-attention and its shortcut start from the block's input again. "
    "Which x goes into the second step?",
    source="A045's kin: `h = residual(x, ...)`, and the next line reads `x`",
)
def self_attention_dropped(x, memory, target_mask, source_mask, attend, cross, feed_forward, _, norm_2, norm_3, *order):
    x = residual(x, lambda x: cross(x, memory, memory, source_mask), norm_2, *order)
    return residual(x, feed_forward, norm_3, *order)


@mistake(
    "Cross-attention asks with the block's input instead of with what self-attention made of it: the question knows "
    "one word, not the sentence so far. Which x does the middle step of `residual` hand to your function?",
    source="a lambda that closes over the outer `x`, or an `x` kept under another name",
)
def asked_by_the_input(x, memory, target_mask, source_mask, self_attention, cross_attention, *others):
    norm_2, norm_first = others[2], others[4:] == (True,)
    asked = norm_2(x) if norm_first else x
    changed = crossing(lambda cross, _, memory, mask: cross(asked, memory, memory, mask))
    return changed(x, memory, target_mask, source_mask, self_attention, cross_attention, *others)


@mistake(
    "The second shortcut starts at the block's input: what self-attention found only shapes the question, and is then "
    "lost. Around which step does the second shortcut go?",
    source="one `shortcut = x` at the top of the block, used three times",
)
def shortcut_from_the_input(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    heard = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    if norm_first:
        x = x + cross(norm_2(heard), memory, memory, source_mask)
    else:
        x = norm_2(x + cross(heard, memory, memory, source_mask))
    return residual(x, feed_forward, norm_3, norm_first)


@mistake(
    "Both attentions read the block's input, side by side, and their results are added in one step. That is a "
    "parallel block, a later invention. What should cross-attention know before it asks?",
    source="figure 1 read as two arms that meet; GPT-J and PaLM put attention and feed-forward side by side",
)
def side_by_side(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, _, norm_3, norm_first = (*rest, False)[:4]

    def both(x):
        return attend(x, x, x, target_mask) + cross(x, memory, memory, source_mask)

    return residual(residual(x, both, norm_1, norm_first), feed_forward, norm_3, norm_first)


@mistake(
    "With norm_first the memory goes through norm_2 as well, in every block. The encoder has closed with a norm of its "
    "own: whose numbers is this norm for?",
    source="'normalise what goes into the attention', applied to all of its arguments",
)
def memory_normalised_too(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_2, pre = rest[1], rest[3:] == (True,)
    read = norm_2(memory) if pre else memory
    return block(x, read, target_mask, source_mask, attend, cross, feed_forward, *rest)


@mistake(
    "The memory is averaged before anybody asks, so every target word gets the same vector, the bottleneck of "
    "lesson 1. Which mean should depend on the query?",
    source="the fixed context of a Seq2Seq model, carried along",
)
def memory_averaged(*arguments):
    def averaged(cross, x, memory, mask):
        mean = memory.mean(1, keepdim=True).expand_as(memory)
        return cross(x, mean, mean, mask)

    return crossing(averaged)(*arguments)


@mistake(
    "The values are right, but the memory is cut off from its gradient: the encoder would never learn, though one "
    "loss is to train all. Which line detaches it?",
    source="a key-value cache under `torch.no_grad()`, taken from code that only generates",
)
def memory_without_gradient(x, memory, *others):
    return block(x, memory.detach(), *others)


MISTAKES = (
    memory_never_read, self_attention_twice, values_from_the_decoder, keys_from_the_decoder, roles_exchanged,
    memory_asks_itself, self_module_again, modules_exchanged, encoder_block_again, cross_attention_dropped,
    self_attention_dropped, asked_by_the_input, shortcut_from_the_input, side_by_side, memory_normalised_too,
    memory_averaged, memory_without_gradient,
)  # fmt: skip
