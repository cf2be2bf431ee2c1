"""Exercise `shift_right`: what the decoder reads while it learns to write the target."""

import torch

from course_lib.checking import Case, Exercise, mistake


def shift_right(target, bos):
    """Decoder input: `bos` first, then the target without its last token.

    target: (B, T) token ids y_1 ... y_T. bos: id of the token that starts a sentence. Returns (B, T), same dtype.
    """
    first = torch.full_like(target[:, :1], bos)
    return torch.cat([first, target[:, :-1]], dim=1)


def cases(generator):
    """Unequal sizes, padding and end tokens, length one, batch one, B = T; several ids for the start token."""

    def ids(*shape):
        return torch.randint(4, 40, shape, generator=generator)

    yield Case("two sentences", (ids(2, 5), 1))
    padded = ids(3, 6)
    padded[:, -1] = torch.tensor([2, 0, 0])
    padded[1:, -2] = torch.tensor([2, 0])
    padded[2, -3] = 2
    yield Case("padded sentences that end with id 2", (padded, 1))
    yield Case("another start token", (ids(2, 4), 3), group="any start token")
    yield Case("one sentence", (ids(1, 4), 1), group="small")
    yield Case("sentences of one token", (ids(3, 1), 1), group="small")
    yield Case("as many sentences as tokens", (ids(4, 4), 1), group="B = T")


@mistake(
    "The target comes back unshifted: at every step the decoder reads the very token it should predict, so the loss "
    "falls to nothing and generation is garbage. Which token has been written before step t?",
    source="A125",
)
def unshifted(target, bos):
    return target.clone()


@mistake(
    "The target moves left: step t reads the token after the one it should predict, the future. "
    "Which token stands before the first one?",
    source="A004: inputs and targets cut at different ends",
)
def shift_left(target, bos):
    return torch.cat([target[:, 1:], torch.full_like(target[:, :1], bos)], dim=1)


@mistake(
    "The last token comes round to the front: the decoder's first input tells it how the sentence ends. "
    "What should stand in the first place instead?",
    source="`torch.roll` shifts, but around the corner",
)
def rolled(target, bos):
    return torch.roll(target, 1, dims=1)


@mistake(
    "The start token is there, but the last token was not dropped: T + 1 inputs for T predictions. "
    "What would be predicted after the last token?",
    source="A005: one step too many, the end token is fed to the decoder",
)
def not_dropped(target, bos):
    return torch.cat([torch.full_like(target[:, :1], bos), target], dim=1)


@mistake(
    "The first token is overwritten by the start token; nothing moved, so from step 2 on the decoder reads what it "
    "should predict. Where did the first token go?",
    source="`x = target.clone(); x[:, 0] = bos` without the shift",
)
def overwritten(target, bos):
    decoder_input = target.clone()
    decoder_input[:, 0] = bos
    return decoder_input


@mistake(
    "The first place holds 0, the padding, not the start token. What does `bos` stand for?",
    source="a zero buffer whose first slot is never written (A004)",
)
def zero_first(target, bos):
    return torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], dim=1)


@mistake(
    "The id 1 is written into the code: right in this course, wrong wherever the start token has another id. "
    "Which argument says what it is?",
    source="A043: an id hard-coded from one vocabulary",
)
def hard_coded(target, bos):
    return torch.cat([torch.ones_like(target[:, :1]), target[:, :-1]], dim=1)


@mistake(
    "The shift runs along the batch: each sentence is given to its neighbour. Which axis is time?",
    source="A129: sequence-first code on batch-first data",
)
def along_batch(target, bos):
    return torch.cat([torch.full_like(target[:1], bos), target[:-1]], dim=0)


@mistake(
    "Everything moves by two places: one token is skipped, so step t reads the token before the last. "
    "How far behind should the input be?",
    source="the start token is added to a target that was already shifted once",
)
def shifted_twice(target, bos):
    first = torch.full_like(target[:, :2], bos)
    return torch.cat([first, target[:, :-2]], dim=1)[:, : target.shape[1]]


@mistake(
    "The ids became floating-point numbers, which no embedding accepts. Which new tensor was made without the dtype of "
    "the target?",
    source="`torch.full`, `torch.ones` and `torch.zeros` make floats unless told otherwise",
)
def float_ids(target, bos):
    return torch.cat([torch.ones(len(target), 1) * bos, target[:, :-1].to(torch.get_default_dtype())], dim=1)


@mistake(
    "The values are right, but the target itself was changed: the loss will compare with shifted tokens. "
    "Which line writes into the argument?",
    source="A090",
)
def in_place(target, bos):
    target[:, 1:] = target[:, :-1].clone()
    target[:, 0] = bos
    return target


def by_pad(target, bos):
    return torch.nn.functional.pad(target, (1, 0), value=bos)[:, :-1]


def by_roll(target, bos):
    shifted = target.roll(1, dims=1)
    shifted[:, 0] = bos
    return shifted


def by_slices(target, bos):
    shifted = target.new_empty(target.shape)
    shifted[:, :1], shifted[:, 1:] = bos, target[:, :-1]
    return shifted


def by_lists(target, bos):
    return torch.tensor([[bos, *row[:-1]] for row in target.tolist()], dtype=target.dtype)


EXERCISE = Exercise(
    name="shift_right",
    reference=shift_right,
    cases=cases,
    mistakes=(
        unshifted, shift_left, rolled, not_dropped, overwritten, zero_first, hard_coded, along_batch, shifted_twice,
        float_ids, in_place,
    ),
    accepts=(by_pad, by_roll, by_slices, by_lists),
    hints=(
        "Write one target down, `사 랑 해 EOS`, and below each token what the decoder has seen before it must say it.",
        "Before the first token it has seen only `bos`; before the last one everything but the last.",
        "`torch.full_like(target[:, :1], bos)` makes the first column; `torch.cat` joins columns along dim=1.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip
