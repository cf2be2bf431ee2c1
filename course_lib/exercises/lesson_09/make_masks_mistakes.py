"""What people write for `make_masks` instead: which keys are shown, and to whom."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.padding_mask import padding_mask


def square(ids):
    """The causal mask (N, N) for ids (B, N)."""
    return causal_mask(ids.shape[1], ids.shape[1])


def only(how):
    """Both masks, each key of a sentence real by `how(ids, pad)`, bool (B, N)."""

    def masks(source_ids, target_ids, pad):
        real = how(target_ids, pad).unsqueeze(1)
        return how(source_ids, pad).unsqueeze(1), real & square(target_ids)

    return masks


@mistake(
    "Ids are compared with 0, whatever `pad` says: words with id 0 vanish, and the padding is read. "
    "Who knows the id of the padding here?",
    source="A043",
)
def zero_written_in(source_ids, target_ids, pad):
    return only(lambda ids, _: ids != 0)(source_ids, target_ids, pad)


@mistake(
    "Ids below `pad` count as padding too: `>` where names are compared. Does a smaller id make a word less real?",
    source="`ids > 0`, right as long as the padding has the smallest id",
)
def only_larger_ids(source_ids, target_ids, pad):
    return only(lambda ids, pad: ids > pad)(source_ids, target_ids, pad)


@mistake(
    "In each sentence one padding token stays visible. If a sentence has 3 tokens and places count from 0, which "
    "place is the first to hide?",
    source="A044",
)
def one_padding_shown(source_ids, target_ids, pad):
    def real(ids, pad):
        return torch.arange(ids.shape[1]) <= (ids != pad).sum(1, keepdim=True)

    return only(real)(source_ids, target_ids, pad)


@mistake(
    "The real tokens are counted and shown from the left: a batch that is padded in front shows its padding and hides "
    "its words. What does the id at a place say, without any counting?",
    source="`arange(N) < lengths`, right for batches that are padded behind",
)
def counted_from_the_left(source_ids, target_ids, pad):
    def real(ids, pad):
        return torch.arange(ids.shape[1]) < (ids != pad).sum(1, keepdim=True)

    return only(real)(source_ids, target_ids, pad)


@mistake(
    "In the target padding and triangle are joined by OR: a key is seen if it is real or if it is not later, so the "
    "future of every sentence lies open. How many of the two conditions must a key meet?",
    source="`|` is right where True means hidden; taken over to masks where it means visible",
)
def joined_by_or(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) | square(target_ids)


@mistake(
    "The other triangle is kept: a word sees itself and what follows, so training hands it the answer. "
    "Which side of the diagonal is the past, if rows are queries?",
    source="A051",
)
def future_instead(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & square(target_ids).T


@mistake(
    "No token sees itself: the diagonal is hidden, and the start token has nothing to look at. "
    "Is a token in its own future?",
    source="A050",
)
def without_itself(source_ids, target_ids, pad):
    earlier = square(target_ids).tril(-1)
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & earlier


@mistake(
    "Each token sees one more: the next one, which it is about to predict. The decoder's input is shifted already; "
    "by how many places must the triangle still move?",
    source="A044's sister: the shift of `shift_right` counted once more in the mask",
)
def one_of_the_future(source_ids, target_ids, pad):
    T = target_ids.shape[1]
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & torch.ones(T, T).tril(1).bool()


@mistake(
    "Both masks say True where a key is hidden, as `nn.Transformer` takes them (`src_key_padding_mask`, `tgt_mask`). "
    "Our attention reads True the other way: which one?",
    source="A130",
)
def true_is_hidden(source_ids, target_ids, pad):
    return ~padding_mask(source_ids, pad), ~(padding_mask(target_ids, pad) & square(target_ids))


@mistake(
    "One part of the target mask means 'hidden' and the other 'visible': `(ids == pad) & triangle` leaves nothing but "
    "padding of the past to look at. What does True mean in each half of your `&`?",
    source="A130 on one of two lines: `== pad` for the padding, `tril` for the triangle",
)
def two_meanings(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), ~padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "The source mask is right, the target mask says True where a key is hidden. Two masks, two meanings: which of them "
    "does our attention share?",
    source="A130: `tgt_mask` as torch's decoder takes it, beside a padding mask of our own",
)
def target_turned_round(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), ~(padding_mask(target_ids, pad) & square(target_ids))


@mistake(
    "The triangle says what to hide, the padding what to show, and `&` joins them as they are: what is left is the "
    "strict future. Which of the two has to be turned round first?",
    source="C04 halfway: `torch.triu(ones, diagonal=1)` of many tutorials, its `== 0` left out",
)
def hidden_triangle(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & ~square(target_ids)


@mistake(
    "The target mask is right, the source mask says True where there is padding: the encoder would read nothing else. "
    "Does your comparison ask for what is padding, or for what is a word?",
    source="A130: `src_key_padding_mask` as torch takes it, `source_ids == pad`, beside a target mask of our own",
)
def source_turned_round(source_ids, target_ids, pad):
    return ~padding_mask(source_ids, pad), padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "The padding of the target is looked up in the source: which target tokens are real then depends on how long the "
    "source is. Of which ids is the second mask to speak?",
    source="A043: the source's padding used for the target too; unequal lengths raise",
)
def padding_of_the_source(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(source_ids, pad) & square(target_ids)


@mistake(
    "The source mask is causal as well: the encoder would read its sentence from left to right, though all of it is "
    "there from the start. Which of the two is written word by word?",
    source="one helper called for both sides",
)
def source_causal_too(source_ids, target_ids, pad):
    return tuple(padding_mask(ids, pad) & square(ids) for ids in (source_ids, target_ids))


@mistake(
    "Padding queries are hidden along with padding keys: their rows are empty. What they find is never used, "
    "and our masks speak of keys alone. Which of the two axes should `target_ids != pad` lie along?",
    source="the outer product of the padding mask with itself, from BERT-like encoders",
)
def rows_closed_too(source_ids, target_ids, pad):
    real = padding_mask(target_ids, pad)
    return padding_mask(source_ids, pad), real & real.mT & square(target_ids)


@mistake(
    "The padding of the target lies along the queries: rows of padding are empty, while real rows read padding keys. "
    "Which of the last two axes is asked?",
    source="A041",
)
def queries_blanked(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad).mT & square(target_ids)


@mistake(
    "Every sentence gets the padding of the first one. On which line does the batch axis shrink to 1?",
    source="tried out on one sentence, `target_ids[:1]`, and left there",
)
def first_row_for_all(source_ids, target_ids, pad):
    first = [ids[:1].expand(len(ids), -1) for ids in (source_ids, target_ids)]
    return padding_mask(first[0], pad), padding_mask(first[1], pad) & square(target_ids)


@mistake(
    "Rows that see nothing were opened, so that their softmax is not NaN: now padding is read there. "
    "What does the course's attention give a query that may see nothing?",
    source="`mask | ~mask.any(-1)` around torch's fused attention, where an empty row was NaN",
)
def empty_rows_opened(source_ids, target_ids, pad):
    target_mask = padding_mask(target_ids, pad) & square(target_ids)
    return padding_mask(source_ids, pad), target_mask | ~target_mask.any(-1, keepdim=True)


@mistake(
    "Each target token sees itself, padding too: the diagonal was put back after the `&`. "
    "Which padding key does that show, and to whom?",
    source="a guard against rows without a key, as some libraries set it",
)
def diagonal_put_back(source_ids, target_ids, pad):
    itself = torch.eye(target_ids.shape[1], dtype=torch.bool)
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & square(target_ids) | itself


MISTAKES = (
    zero_written_in, only_larger_ids, one_padding_shown, counted_from_the_left, joined_by_or, future_instead,
    without_itself, one_of_the_future, true_is_hidden, two_meanings, target_turned_round, hidden_triangle,
    source_turned_round, padding_of_the_source, source_causal_too, rows_closed_too, queries_blanked, first_row_for_all,
    empty_rows_opened, diagonal_put_back,
)  # fmt: skip
