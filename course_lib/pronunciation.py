"""A published Seq2Seq without attention, running on torch's own modules: letters in, phonemes out."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from course_lib.generation import greedy


class Pronouncer(nn.Module):
    """The network of g2p-en: a GRU reads the letters, its last state (256 numbers) is the first state of the decoder.

    weights: what `data.g2p.load_g2p` returns.

    >>> import numpy
    >>> from course_lib.data.g2p import G2P
    >>> shapes = {"emb": (74, 6), "w_ih": (18, 6), "w_hh": (18, 6), "b_ih": 18, "b_hh": 18}
    >>> shapes = {f"{side}_{name}": shape for side in ("enc", "dec") for name, shape in shapes.items()}
    >>> shapes |= {"fc_w": (74, 6), "fc_b": 74}
    >>> model = Pronouncer(G2P({name: numpy.zeros(shape, "float32") for name, shape in shapes.items()}))
    >>> model.encode(["a", "animal"]).shape  # (1, B, 6), since these weights are 6 wide
    torch.Size([1, 2, 6])
    """

    def __init__(self, weights):
        super().__init__()
        self.graphemes, self.phonemes = weights.graphemes, weights.phonemes
        arrays = {name: torch.from_numpy(array.copy()) for name, array in weights.arrays.items()}
        self.letters = nn.Embedding.from_pretrained(arrays["enc_emb"])
        self.sounds = nn.Embedding.from_pretrained(arrays["dec_emb"])
        self.encoder, self.decoder = (_gru(arrays, side) for side in ("enc", "dec"))
        self.output = nn.Linear(*reversed(arrays["fc_w"].shape))
        self.output.load_state_dict({"weight": arrays["fc_w"], "bias": arrays["fc_b"]})

    def encode(self, words):
        """words: strings. Returns the context (1, B, 256)."""
        ids = {letter: number for number, letter in enumerate(self.graphemes)}
        rows = [torch.tensor([*(ids.get(c, ids["<unk>"]) for c in word), ids["</s>"]]) for word in words]
        lengths = torch.tensor([len(row) for row in rows])
        embedded = self.letters(nn.utils.rnn.pad_sequence(rows, batch_first=True))  # (B, S, 256)
        return self.encoder(pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False))[1]

    def step(self, token, state):
        """One phoneme further. token: (B,). Returns logits (B, 74) and the next state."""
        output, state = self.decoder(self.sounds(token).unsqueeze(1), state)
        return self.output(output.squeeze(1)), state


def _gru(arrays, side):
    """torch stores the gates in the same order as the publication, so the arrays fit as they are."""
    module = nn.GRU(arrays[f"{side}_emb"].shape[1], arrays[f"{side}_w_hh"].shape[1], batch_first=True)
    names = {"w_ih": "weight_ih_l0", "w_hh": "weight_hh_l0", "b_ih": "bias_ih_l0", "b_hh": "bias_hh_l0"}
    module.load_state_dict({ours: arrays[f"{side}_{theirs}"] for theirs, ours in names.items()})
    return module


@torch.no_grad()
def pronounce(model, words, max_length=30):
    """Phonemes of each word, greedily. model: a Pronouncer. words: a list of lower-case strings.

    max_length: so many phonemes of a word at most. A letter that the network does not know is read as <unk>.
    Returns a list of tuples, e.g. ("AE1", "N", "IH0", "M", "AH0", "L") for "animal".
    Raises ValueError for a max_length below 1, unless there is no word.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(phonemes=("<pad>", "<s>", "</s>", "AH0"), encode=lambda words: None)
    >>> after = torch.tensor([0, 3, 0, 2])  # AH0 comes after <s>, the end after AH0
    >>> model.step = lambda token, state: (torch.eye(4)[after[token]], state)
    >>> pronounce(model, ["a", "uh"])
    [('AH0',), ('AH0',)]
    """
    words = list(words)
    if not words:
        return []
    ids = {sound: number for number, sound in enumerate(model.phonemes)}
    bos, eos, pad = ids["<s>"], ids["</s>"], ids["<pad>"]
    rows = greedy(
        model.step, model.encode(words), bos=bos, eos=eos, pad=pad, max_length=max_length, batch_size=len(words)
    )
    return [tuple(model.phonemes[number] for number in row if number not in (pad, eos)) for row in rows.tolist()]
