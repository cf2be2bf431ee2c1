"""What people write for `feed_forward` instead."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


@mistake(
    "Nothing bends: two linear layers in a row are one, W_1 W_2, however wide the hidden layer is. "
    "Which argument does your code never call?",
    source="A091",
)
def no_activation(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return (x @ W_1 + b_1) @ W_2 + b_2


@mistake(
    "The activation stands at the end, after W_2: the two layers before it are one linear map, and ReLU lets nothing "
    "below 0 out. Between which two products does it belong?",
    source="A091, the variant that places it after the second layer",
)
def activation_at_the_end(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation((x @ W_1 + b_1) @ W_2 + b_2)


@mistake(
    "Both layers are activated: what goes to the shortcut can no longer be negative with ReLU, it can only add. "
    "How often does σ stand in the formula?",
    source="A091: 'linear, ReLU' written as one unit and used twice",
)
def activated_twice(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(activation(x @ W_1 + b_1) @ W_2 + b_2)


@mistake(
    "The activation is applied to x, before W_1: negative features are lost before any weight has seen them. "
    "What is the argument of σ in the formula?",
    source="A091's kin: activation first, as in the residual blocks of some image models",
)
def activation_first(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return (activation(x) @ W_1 + b_1) @ W_2 + b_2


@mistake(
    "The first bias is missing: all hidden numbers bend at 0. Which argument does your code not read?",
    source="a bias that is 0 at the start",
)
def no_first_bias(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1) @ W_2 + b_2


@mistake(
    "The second bias is missing: a token whose hidden numbers are all 0 gets nothing. "
    "What stands behind W_2 in the formula?",
    source="the last term of a long line",
)
def no_second_bias(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1 + b_1) @ W_2


@mistake(
    "Neither bias is added. Some later models do without them; how many terms does the paper's formula have?",
    source="T5 and models of the Llama family have `bias=False` in these layers",
)
def no_biases(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1) @ W_2


@mistake(
    "The first bias is added after the activation: it moves the numbers, and no longer the place where they bend. "
    "Where does the bracket of σ close?",
    source="operator order: the bracket closes too early",
)
def first_bias_outside(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return (activation(x @ W_1) + b_1) @ W_2 + b_2


@mistake(
    "The two biases have changed places. Which of them is as long as the hidden layer is wide?",
    source="equal sizes hide exchanged arguments",
)
def biases_exchanged(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1 + b_2) @ W_2 + b_1


@mistake(
    "The layers have changed places: W_2 is applied first. Which matrix has D rows, and which d_ff?",
    source="`W_2 W_1 x` is read from the right; equal sizes let it run from the left",
)
def layers_exchanged(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_2 + b_2) @ W_1 + b_1


@mistake(
    "The first layer is used twice and the second never. Which name in your second line is left from the first?",
    source="the first line copied; equal sizes hide it",
)
def first_layer_twice(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1 + b_1) @ W_1 + b_1


@mistake(
    "Both matrices stand transposed, as `nn.Linear` keeps its weight. Here W_1 is (D, d_ff): "
    "which axis of it must meet the last axis of x?",
    source="torch keeps (out, in), the formula (in, out); equal sizes hide it",
)
def as_for_linear(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return functional.linear(activation(functional.linear(x, W_1, b_1)), W_2, b_2)


@mistake(
    "The way back is W_1 transposed: half of the weights are never read. "
    "Which matrix should decide what a hidden number adds to a token?",
    source="tied weights, as in autoencoders and between embedding and output",
)
def tied(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1 + b_1) @ W_1.T + b_2


@mistake(
    "ReLU is written into the code, so another activation changes nothing. Which argument should be called there?",
    source="`torch.relu` typed from the paper's formula, max(0, ...)",
)
def relu_written_in(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return (x @ W_1 + b_1).clamp(min=0) @ W_2 + b_2


@mistake(
    "GELU is used, whatever is asked for: that is what BERT and GPT do. Which function does the caller hand over?",
    source="code of BERT or GPT-2 at hand",
)
def gelu_written_in(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return functional.gelu(x @ W_1 + b_1) @ W_2 + b_2


@mistake(
    "The hidden layer is squashed by tanh, as in the recurrent cells of the first lessons. "
    "Who chooses the function in this layer, and by which argument?",
    source="tanh by habit from rnn_cell",
)
def tanh_written_in(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return torch.tanh(x @ W_1 + b_1) @ W_2 + b_2


@mistake(
    "A softmax runs over the hidden numbers: they share out 1 among themselves, as keys do in attention. "
    "Does one hidden number have to give way when another grows?",
    source="attention's pattern: product, softmax, product",
)
def softmax_of_the_hidden(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return torch.softmax(x @ W_1 + b_1, dim=-1) @ W_2 + b_2


@mistake(
    "The activation multiplies its own argument: a gate. With ReLU that squares what is positive. "
    "What does the second product receive in the formula?",
    source="gated layers (GLU, SwiGLU) have such a product, with a third matrix",
)
def gated_by_itself(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = x @ W_1 + b_1
    return hidden * activation(hidden) @ W_2 + b_2


@mistake(
    "x is added to the result: the shortcut is inside. Who adds it once more around every sub-layer?",
    source="blocks in which each part brings its shortcut with it; here `residual` does it",
)
def shortcut_inside(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return x + activation(x @ W_1 + b_1) @ W_2 + b_2


@mistake(
    "x is added and the sum is normalised: a whole sub-layer with all that belongs around it. "
    "Which part of it is this exercise?",
    source="jadore801120/attention-is-all-you-need-pytorch: shortcut and norm inside PositionwiseFeedForward",
)
def shortcut_and_norm_inside(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return functional.layer_norm(x + activation(x @ W_1 + b_1) @ W_2 + b_2, x.shape[-1:])


@mistake(
    "The matrices meet the axis of tokens, so the words of a sentence are mixed and the features are left alone. "
    "Which part of a block is to mix tokens, and which to bend each by itself?",
    source="features and tokens exchanged for `nn.Conv1d`, or once too often; N = D lets it run",
)
def along_the_sentence(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return (activation(x.mT @ W_1 + b_1) @ W_2 + b_2).mT


MISTAKES = (
    no_activation, activation_at_the_end, activated_twice, activation_first, no_first_bias, no_second_bias, no_biases,
    first_bias_outside, biases_exchanged, layers_exchanged, first_layer_twice, as_for_linear, tied, relu_written_in,
    gelu_written_in, tanh_written_in, softmax_of_the_hidden, gated_by_itself, shortcut_inside,
    shortcut_and_norm_inside, along_the_sentence,
)  # fmt: skip
