"""What people write for `transformer_forward` instead: what goes in at the very start, and what comes out."""

import torch

from course_lib.checking import mistake

from .transformer_forward_mistakes import assembled


@mistake(
    "A softmax closes the model. The loss applies one by itself, and two of them learn badly. What are scores called "
    "before they are made into probabilities?",
    source="A101: figure 1 has a box 'Softmax'",
)
def probabilities(*arguments):
    return assembled(*arguments).softmax(-1)


@mistake(
    "The logarithms of probabilities come back: the generator of The Annotated Transformer ends like that, and asks "
    "for another loss. What does the docstring call the result?",
    source="A101's kin: `F.log_softmax` at the end, `NLLLoss` behind it",
)
def log_probabilities(*arguments):
    return assembled(*arguments).log_softmax(-1)


@mistake(
    "The likeliest ids come back: no gradient flows through a choice. Who needs all scores of a place, training or "
    "writing?",
    source="the last line of greedy decoding",
)
def chosen_ids(*arguments):
    return assembled(*arguments).argmax(-1)


@mistake(
    "Scores for the last place alone. While writing that is all one needs; how many predictions does one sentence "
    "train at once?",
    source="`x[:, -1] @ W_out`, from a loop that writes",
)
def last_place_alone(*arguments):
    return assembled(*arguments)[:, -1]


@mistake(
    "The scores of padded places are set to 0, which is a guess like any other, and the loss skips those places "
    "anyway. At which places does the docstring ask for scores?",
    source="A103's sister: a mask laid on what comes out, because padding 'must be 0'",
)
def padded_places_wiped(source_ids, target_ids, pad, *others):
    return assembled(source_ids, target_ids, pad, *others) * (target_ids != pad).unsqueeze(-1)


@mistake(
    "The scores are products with the target's embeddings; W_out is never read. Tied weights are a good idea, and the "
    "caller's to have: which matrix is given for the last step?",
    source="section 3.4 shares the two matrices; here they may differ",
)
def tied_output(
    source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks, W_out
):
    parts = source_ids, target_ids, pad, source_table, target_table, positions, encoder_blocks, decoder_blocks
    return assembled(*parts, target_table.T)


@mistake(
    "The last vectors are divided by √D before W_out, as T5 does, whose output layer is its embedding. Which step of "
    "this model has a factor, and is it the last?",
    source="T5's tied output; or the factor of the embeddings taken back",
)
def scores_scaled_down(*arguments):
    return assembled(*arguments) / len(arguments[8]) ** 0.5


@mistake(
    "The last target token is cut off: T - 1 predictions come back. `target_ids` is the decoder's input already; where "
    "is the target shifted, here or in the training loop?",
    source="A125's counterpart: `tgt[:, :-1]` in the model and outside of it",
)
def target_cut_again(source_ids, target_ids, *others):
    return assembled(source_ids, target_ids[:, :-1], *others)


@mistake(
    "The target is shifted to the right a second time, with `pad` in front: place t reads the token before last. Which "
    "token stands first in what you are given?",
    source="A125's counterpart: `shift_right` called in the model and outside of it",
)
def target_shifted_again(source_ids, target_ids, pad, *others):
    shifted = torch.cat([torch.full_like(target_ids[:, :1], pad), target_ids[:, :-1]], dim=1)
    return assembled(source_ids, shifted, pad, *others)


MISTAKES = (
    probabilities, log_probabilities, chosen_ids, last_place_alone, padded_places_wiped, tied_output,
    scores_scaled_down, target_cut_again, target_shifted_again,
)  # fmt: skip
