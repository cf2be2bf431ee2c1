"""The position waves of lesson 7: the sinusoidal encoding as picture, clocks, waves, and a bag of words.

Everything is computed in the page from the state; this is its twin.
"""

import numpy as np
import torch
import traitlets

from course_lib import figures
from course_lib.attention import scaled_dot_product_attention
from course_lib.positions import sinusoidal_encoding

from .base import COLOURS, MARK, Explorable, fixed, module, rounded

BASES = [100.0, 1000.0, 10_000.0, 100_000.0]
MOST_POSITIONS, MOST_WIDTH = 128, 128
WINDOW, FAR = 16, 24  # positions of the waves and distances that the picture shows: more would be a thicket
CLOCKS = 5  # from the fastest pair to the slowest

TOKENS = ["고양이", "가", "강아지", "를", "본다"]
VERB = TOKENS.index("본다")
WIDTH, SEED = 8, 26  # of the words' vectors, which are drawn; with this seed no shuffle is a near miss
# Which token stands where: the sentence itself; the dog sees the cat; the same with its object in front; the verb in
# front; and two of no sense.
ORDERS = [[0, 1, 2, 3, 4], [2, 1, 0, 3, 4], [2, 3, 0, 1, 4], [4, 0, 1, 2, 3], [3, 4, 1, 2, 0], [4, 3, 2, 1, 0]]


def encoding(count, width, base):
    """PE (count, width) of the positions from 0."""
    return sinusoidal_encoding(count, width, base=base, dtype=torch.float64).numpy()


def frequency(pair, width, base):
    """By how many radians the hand of a pair turns from one position to the next."""
    return float(base) ** (-2 * pair / width)


def clocks(pairs, chosen):
    """The pairs that get a clock, sorted: CLOCKS of them spread from the fastest to the slowest, and the chosen one."""
    count = min(CLOCKS, pairs)
    # Halves go up, as in the page.
    spread = {int(at * (pairs - 1) / (count - 1) + 0.5) for at in range(count)} if count > 1 else {0}
    return sorted(spread | {chosen})


def draw_words():
    """Vector of each token (5, 8) and the three projections (8, 8), drawn once for all."""
    drawn = np.random.default_rng(SEED)
    matrices = drawn.normal(size=(3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    vectors = drawn.normal(size=(len(TOKENS), WIDTH))
    return {"X": rounded(vectors)} | {name: rounded(W) for name, W in zip(("W_Q", "W_K", "W_V"), matrices, strict=True)}


def self_attention(X, W_Q, W_K, W_V):
    """Outputs (N, D) of one self-attention over the rows of X (N, D), without mask."""
    query, key, value = (torch.from_numpy(X @ W) for W in (W_Q, W_K, W_V))
    return scaled_dot_product_attention(query, key, value)[0].numpy()


class PositionWaves(Explorable):
    """`position`, `pair` and `base` are moved by hand; `shuffle` picks one of ORDERS, `added` adds positions."""

    NAME = "position_waves"
    STATE = ("position", "pair", "base", "shuffle", "added")
    _esm = module(NAME)

    position = traitlets.Int(0).tag(sync=True)
    pair = traitlets.Int(0).tag(sync=True)
    base = traitlets.Float(10_000.0).tag(sync=True)
    shuffle = traitlets.Int(1).tag(sync=True)
    added = traitlets.Bool(False).tag(sync=True)
    n_positions = traitlets.Int(64).tag(sync=True)
    d_model = traitlets.Int(32).tag(sync=True)
    tokens = traitlets.List(TOKENS).tag(sync=True)
    orders = traitlets.List(ORDERS).tag(sync=True)
    vectors = traitlets.Dict().tag(sync=True)

    @traitlets.validate("position", "pair", "shuffle")
    def _in_range(self, proposal):
        name, value = proposal.trait.name, proposal.value
        last = {"position": self.n_positions, "pair": self.d_model // 2, "shuffle": len(ORDERS)}[name] - 1
        if not 0 <= value <= last:
            raise traitlets.TraitError(f"{name}: expected 0 to {last}, got {value}")
        return value

    @traitlets.validate("base")
    def _a_power(self, proposal):
        if proposal.value not in BASES:
            raise traitlets.TraitError(f"base: expected 100, 1000, 10000 or 100000, got {proposal.value:g}")
        return proposal.value

    def encoding(self):
        """PE (n_positions, d_model): the twin of the page."""
        return encoding(self.n_positions, self.d_model, self.base)

    def hands(self):
        """[(pair, sine, cosine), ...] of the clocks at the position."""
        row = self.encoding()[self.position]
        return [(pair, row[2 * pair], row[2 * pair + 1]) for pair in clocks(self.d_model // 2, self.pair)]

    def similarity(self, position=None):
        """{k: PE(p) · PE(p + k)} for every p + k that there is; p is the position unless given."""
        waves = self.encoding()
        at = self.position if position is None else position
        return {other - at: float(waves[at] @ waves[other]) for other in range(self.n_positions)}

    def verb(self, order):
        """The verb's vector (8,) after self-attention over the sentence in that order."""
        given = {name: np.array(values) for name, values in self.vectors.items()}
        X = given.pop("X")[order]
        if self.added:
            X = X + encoding(len(order), WIDTH, self.base)
        return self_attention(X, **given)[order.index(VERB)]

    def distance(self):
        """Between the verb's vectors in the sentence and in its shuffle."""
        return float(np.linalg.norm(self.verb(ORDERS[0]) - self.verb(ORDERS[self.shuffle])))

    def sentence(self):
        row, alike = self.encoding()[self.position], self.similarity()
        from_zero = self.similarity(0)
        off = max(abs(value - from_zero[abs(k)]) for k, value in alike.items())
        step = 1 if self.position < self.n_positions - 1 else -1
        told = self.say(
            "sentence",
            position=self.position,
            pair=self.pair,
            sine=fixed(row[2 * self.pair]),
            cosine=fixed(row[2 * self.pair + 1]),
            turn=_turn(frequency(self.pair, self.d_model, self.base)),
            length=fixed(alike[0]),
            step=step,
            near=fixed(alike[step]),
            off=fixed(off),
        )
        values = {"text": " ".join(TOKENS[at] for at in ORDERS[self.shuffle]), "distance": fixed(self.distance())}
        values["base"] = f"{self.base:g}"
        return f"{told} {self.say('with' if self.added else 'without', **values)}"

    def _window(self):
        """The positions whose waves the picture shows, (first, end)."""
        from_ = min(max(0, self.position - WINDOW // 2), max(0, self.n_positions - WINDOW))
        return from_, min(self.n_positions, from_ + WINDOW)

    def draw(self):
        figure, (heat, waves, alike) = figures.panels(3, width=2.7, height=2.4)
        values = self.encoding()
        heat.imshow(values, vmin=-1, vmax=1, cmap=COLOURS, aspect="auto")
        heat.grid(False)
        heat.axhline(self.position, color=MARK)
        for edge in (2 * self.pair - 0.5, 2 * self.pair + 1.5):
            heat.axvline(edge, color=MARK, linestyle="--", linewidth=1)
        heat.set(xlabel=self.say("dimension"), ylabel=self.say("position"))
        heat.set_title(self.say("heat"), fontsize=9)
        from_, to = self._window()
        for column, look, name in ((0, "-", "sine"), (1, "--", "cosine")):
            wave = values[:, 2 * self.pair + column]
            waves.plot(range(from_, to), wave[from_:to], look, label=self.say(name))
            waves.plot([self.position], [wave[self.position]], "o" if column == 0 else "s", color="black", markersize=5)
            waves.annotate(fixed(wave[self.position]), (self.position, wave[self.position]), (4, 4), fontsize=8,
                           textcoords="offset points")  # fmt: skip
        waves.set(xlabel=self.say("position"), ylim=(-1.15, 1.9), yticks=[-1, 0, 1])
        waves.set_title(self.say("waves", pair=self.pair), fontsize=9)
        waves.legend(fontsize=8, loc="upper right", ncols=2)
        far, near = (
            [(k, value) for k, value in self.similarity(at).items() if abs(k) <= FAR] for at in (0, self.position)
        )
        mirrored = [(-k, value) for k, value in far[:0:-1]] + far
        alike.plot(*zip(*mirrored, strict=True), color=MARK, label=self.say("from", position=0))
        alike.plot(*zip(*near, strict=True), ".", markersize=4, label=self.say("from", position=self.position))
        alike.set(xlabel=self.say("distance"))
        alike.set_title(self.say("similarity"), fontsize=9)
        alike.legend(fontsize=8)
        return figure


def _turn(speed):
    """Positions of one whole turn, as the page writes them."""
    positions = 2 * np.pi / speed
    return f"{positions:.1f}" if positions < 1000 else str(int(positions + 0.5))


def _whole(value, name, low, high, even=False):
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not low <= value <= high or value % (1 + even):
        kind = "an even number" if even else "a whole number"
        raise ValueError(f"{name}: expected {kind} from {low} to {high}, got {value!r}")
    return int(value)


def position_waves(
    n_positions=64, d_model=32, base=10000.0, position=None, pair=None, shuffle=1, added=False, lang="en"
):
    """Explore the sinusoidal encoding PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(p / base^(2i/D)).

    n_positions: 2 to 128. d_model: even, 2 to 128. base: 100, 1000, 10000 or 100000.
    position, pair (the i): from 0 on; None takes some where there is something to see.
    shuffle: which order of the words, 0 (the sentence itself) to 5. added: add positions to the words.
    """
    n_positions = _whole(n_positions, "n_positions", 2, MOST_POSITIONS)
    d_model = _whole(d_model, "d_model", 2, MOST_WIDTH, even=True)
    return PositionWaves(
        n_positions=n_positions, d_model=d_model, base=base,
        position=min(10, n_positions - 1) if position is None else position,
        pair=min(3, d_model // 2 - 1) if pair is None else pair,
        shuffle=shuffle, added=added, vectors=draw_words(), lang=lang,
    )  # fmt: skip
