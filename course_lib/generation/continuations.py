"""What a model of the course says comes next after texts that are written already."""

import torch

from course_lib.data.batches import pad_rows
from course_lib.data.vocabulary import BOS

from .writing import evaluating


@torch.no_grad()
def next_logits(model, source, source_lengths, prefixes):
    """The scores of each token that may follow each of N texts, all of one source, in one teacher-forced pass.

    model: called as model(source, source_lengths, decoder_input) -> logits (N, T, V); where padding follows a text,
    it changes nothing before itself. It is put into evaluation mode meanwhile.
    source: (1, S) ids. source_lengths: (1,). prefixes: N texts as sequences of ids without BOS, of any lengths; the
    empty one asks for the first token.
    Returns logits (N, V), on the CPU in float64. Raises ValueError for more than one source, and for no prefix.

    >>> from course_lib.transformer import Transformer
    >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    >>> source, lengths = torch.tensor([[5, 6, 8]]), torch.tensor([3])
    >>> together, alone = (next_logits(model, source, lengths, texts) for texts in ([(), (4, 5)], [(4, 5)]))
    >>> together.shape, torch.allclose(together[1], alone[0], atol=1e-5)
    (torch.Size([2, 7]), True)
    """
    if len(source) != 1:
        raise ValueError(f"source: expected one sentence, (1, S), got {tuple(source.shape)}")
    if not len(prefixes):
        raise ValueError("prefixes: expected at least one, such as the empty one, ()")
    device, N = next(model.parameters()).device, len(prefixes)
    decoder_input = pad_rows([[BOS, *prefix] for prefix in prefixes]).to(device)  # (N, T)
    last = torch.tensor([len(prefix) for prefix in prefixes], device=device)  # (N,), where each one's last token stands
    with evaluating(model):
        logits = model(source.to(device).expand(N, -1), source_lengths.expand(N), decoder_input)  # (N, T, V)
    return logits[torch.arange(N, device=device), last].cpu().double()  # (N, V)
