"""A training step of the RNN decoders beside a loop of `nn.GRUCell` over the target, with the same attention."""

import torch
from torch import nn

from course_lib import bench
from course_lib.attention import attend
from course_lib.recurrent import Decoder
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder, compare_features

PAIRS = 40
VOCABULARY = 100
SIZES = {"lesson": (64, 12, 12, 32, 64), "larger": (32, 24, 24, 256, 512)}  # batch, source, target, embedding, state


def main(device):
    """Rows of forward and backward, from the encoder's outputs to a gradient in every weight of the decoder."""
    for name, (B, S, T, E, H) in SIZES.items():
        size = f"{name}: B={B}, S={S}, T={T}, E={E}, H={H}"
        for kind, make in KINDS.items():
            torch.manual_seed(0)
            ours = make(E, H).to(device)
            pair = steps(ours, LOOPS[kind](ours), B, S, T, H, device)
            row = {"what": f"{kind} decoder: training step", "size": size, "beside": "loop of nn.GRUCell"}
            yield bench.compare(*pair, pairs=PAIRS, device=device, **row)


def steps(ours, loop, B, S, T, H, device):
    """(their step, ours), after a look that both compute the same logits."""
    outputs, context = torch.randn(B, S, H, device=device), torch.randn(B, H, device=device)
    mask = torch.ones(B, 1, S, dtype=torch.bool, device=device)
    tokens = torch.randint(VOCABULARY, (B, T), device=device)
    direction = torch.randn(B, T, VOCABULARY, device=device)

    def step_of_ours():
        ours.zero_grad()
        ours(tokens, ours.start(outputs, context, mask)).backward(direction)

    def step_of_theirs():
        loop.zero_grad()
        loop(tokens, ours.start(outputs, context, mask)).backward(direction)

    start = ours.start(outputs, context, mask)
    torch.testing.assert_close(ours(tokens, start), loop(tokens, start), rtol=1e-3, atol=1e-4)
    return step_of_theirs, step_of_ours


class Loop(nn.Module):
    """Our decoder's weights, its steps taken one by one with `nn.GRUCell`."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder
        self.cell = nn.GRUCell(decoder.rnn.input_size, decoder.rnn.hidden_size).to(decoder.output.weight)
        for name, weight in decoder.rnn.named_parameters():
            setattr(self.cell, name.removesuffix("_l0"), weight)


class PlainLoop(Loop):
    def forward(self, tokens, state):
        hidden, states = state.moves[0], []
        for embedded in self.decoder.embedding(tokens).unbind(1):  # (B, E)
            hidden = self.cell(embedded, hidden)  # (B, H)
            states.append(hidden)
        return self.decoder.output(torch.stack(states, dim=1))


class BahdanauLoop(Loop):
    def forward(self, tokens, state):
        hidden, (outputs, keys, mask) = state.moves[0], state.stays
        states = []
        for embedded in self.decoder.embedding(tokens).unbind(1):  # (B, E)
            query = (hidden @ self.decoder.W_q).unsqueeze(1)  # (B, 1, A)
            context, _ = attend(compare_features(query, keys, self.decoder.v.squeeze(-1)), outputs, mask)
            hidden = self.cell(torch.cat([context.squeeze(1), embedded], dim=-1), hidden)  # (B, H)
            states.append(hidden)
        return self.decoder.output(torch.stack(states, dim=1))


class LuongLoop(Loop):
    def forward(self, tokens, state):
        hidden, (outputs, keys, mask) = state.moves[0][0], state.stays
        steps = []
        for embedded in self.decoder.embedding(tokens).unbind(1):  # (B, E)
            hidden = self.cell(embedded, hidden)  # (B, H)
            context, _ = attend(self.decoder.score(hidden.unsqueeze(1), keys), outputs, mask)
            steps.append(torch.tanh(self.decoder.combine(torch.cat([context.squeeze(1), hidden], dim=-1))))
        return self.decoder.output(torch.stack(steps, dim=1))


KINDS = {
    "plain": lambda E, H: Decoder(VOCABULARY, E, H, H),
    "Bahdanau": lambda E, H: BahdanauDecoder(VOCABULARY, E, H, H, H),
    "Luong": lambda E, H: LuongDecoder(VOCABULARY, E, H, H, H),
}
LOOPS = {"plain": PlainLoop, "Bahdanau": BahdanauLoop, "Luong": LuongLoop}
