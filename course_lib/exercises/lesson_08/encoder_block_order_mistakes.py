"""What people write for `encoder_block` instead: norms and shortcuts in other places."""

from course_lib.checking import mistake

from .residual import residual


def block(x, attend, feed_forward, norm_1, norm_2, first, second):
    """The right block, with a choice of order for each sub-layer. attend: function x -> attention among x's tokens."""
    return residual(residual(x, attend, norm_1, first), feed_forward, norm_2, second)


def among(self_attention, mask):
    """Self-attention as a function of one argument."""
    return lambda x: self_attention(x, x, x, mask)


@mistake(
    "The norms have changed places: norm_2 stands at the attention, norm_1 at the feed-forward network. "
    "Which of them belongs to the first sub-layer?",
    source="A086's kin: fresh norms are all alike, so nobody sees it",
)
def norms_exchanged(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_2, norm_1, norm_first, norm_first)


@mistake(
    "norm_1 serves both sub-layers, and norm_2 never learns anything. Which line was copied from the other?",
    source="A086",
)
def norm_1_for_both(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_1, norm_first, norm_first)


@mistake(
    "norm_2 serves both sub-layers, and norm_1 is never called. How many norms has a block with two sub-layers?",
    source="A086, with the other one of the two",
)
def norm_2_for_both(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_2, norm_2, norm_first, norm_first)


@mistake(
    "This is post-norm, whatever `norm_first` says. To whom do you hand `norm_first` on?",
    source="C06: `norm_first` not handed to `residual`, whose default is False",
)
def always_post_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, False, False)


@mistake(
    "This is pre-norm, whatever `norm_first` says: the order of later models, where the paper's is asked for. "
    "Which argument tells them apart?",
    source="C06: the block of GPT-2 typed in",
)
def always_pre_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, True, True)


@mistake(
    "The attention obeys `norm_first`, the feed-forward network is always post-norm. "
    "What differs between your two calls that should not?",
    source="`norm_first` handed to the first call of `residual` alone",
)
def order_for_attention_alone(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, norm_first, False)


@mistake(
    "The feed-forward network obeys `norm_first`, the attention is always post-norm. "
    "Which call of `residual` has one argument less?",
    source="`norm_first` handed to the second call of `residual` alone",
)
def order_for_feed_forward_alone(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, False, norm_first)


@mistake(
    "Pre-norm and post-norm have changed places in both sub-layers. What does `norm_first=True` put first?",
    source="a condition the wrong way round",
)
def orders_exchanged(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    return block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, not norm_first, not norm_first)


@mistake(
    "With norm_first, the shortcuts carry what the norms returned, so no x goes past the block unchanged. "
    "Which x is to be added, the one before its norm or the one behind it?",
    source="A088: `x = norm(x)` on a line of its own",
)
def normalised_shortcuts(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    if not norm_first:
        return always_post_norm.wrong(x, mask, self_attention, feed_forward, norm_1, norm_2)
    x = norm_1(x)
    x = norm_2(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@mistake(
    "With norm_first, the result is normalised once more. Such a norm stands once behind the last block of a stack, "
    "and has weights of its own. How many norms does one block have?",
    source="the last norm of a pre-norm stack, moved into the block",
)
def last_norm_inside(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    x = block(x, among(self_attention, mask), feed_forward, norm_1, norm_2, norm_first, norm_first)
    return norm_2(x) if norm_first else x


@mistake(
    "The attention has no shortcut: a token keeps of itself only what it finds by looking. "
    "How often do you call `residual`, and around what?",
    source="one of two shortcuts forgotten",
)
def no_shortcut_at_attention(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    attend = among(self_attention, mask)
    found = attend(norm_1(x)) if norm_first else norm_1(attend(x))
    return residual(found, feed_forward, norm_2, norm_first)


@mistake(
    "The feed-forward network has no shortcut: what attention found has to pass through it. "
    "What should be left of x when the layer says nothing?",
    source="the other shortcut forgotten: the feed-forward network as the last layer of a classifier",
)
def no_shortcut_at_feed_forward(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    x = residual(x, among(self_attention, mask), norm_1, norm_first)
    return feed_forward(norm_2(x)) if norm_first else norm_2(feed_forward(x))


@mistake(
    "There is no shortcut at all: attention, norm, feed-forward, norm, one behind the other. "
    "Which function of yours brings the plus signs?",
    source="layers in a row, as in nn.Sequential, without a call of `residual`",
)
def no_shortcuts(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    attend = among(self_attention, mask)
    return feed_forward(norm_2(attend(norm_1(x)))) if norm_first else norm_2(feed_forward(norm_1(attend(x))))


@mistake(
    "One shortcut runs around the whole block, none around its parts. How many plus signs does a block have?",
    source="'each block has a residual connection', read as one",
)
def one_shortcut_for_all(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    attend = among(self_attention, mask)
    if norm_first:
        return x + feed_forward(norm_2(attend(norm_1(x))))
    return norm_2(x + feed_forward(norm_1(attend(x))))


@mistake(
    "The second shortcut begins at the block's input: what attention added is not carried on beside the "
    "feed-forward network. Which x does the second plus add?",
    source="`residual = x` saved once at the top of the block, and added twice",
)
def old_shortcut(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    first = residual(x, among(self_attention, mask), norm_1, norm_first)
    return x + feed_forward(norm_2(first)) if norm_first else norm_2(x + feed_forward(first))


@mistake(
    "The values are right, but the block writes to x: `+=` works in the caller's tensor. "
    "What will a second call with the same x see?",
    source="A090",
)
def in_place(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    seen = norm_1(x) if norm_first else x
    x += self_attention(seen, seen, seen, mask)
    x = x if norm_first else norm_1(x)
    return residual(x, feed_forward, norm_2, norm_first)


@mistake(
    "The values are right, but no gradient goes round the sub-layers: the shortcuts are copies outside torch's graph. "
    "By which way should the loss reach the first block of a deep stack?",
    source="`shortcut = x.detach().clone()`, to keep x as it was",
)
def shortcuts_detached(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    for part, norm in ((among(self_attention, mask), norm_1), (feed_forward, norm_2)):
        x = x.detach() + part(norm(x)) if norm_first else norm(x.detach() + part(x))
    return x


MISTAKES = (
    norms_exchanged, norm_1_for_both, norm_2_for_both, always_post_norm, always_pre_norm, order_for_attention_alone,
    order_for_feed_forward_alone, orders_exchanged, normalised_shortcuts, last_norm_inside, no_shortcut_at_attention,
    no_shortcut_at_feed_forward, no_shortcuts, one_shortcut_for_all, old_shortcut, in_place, shortcuts_detached,
)  # fmt: skip
