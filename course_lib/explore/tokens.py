"""How explorables write tokens and probabilities; the page has the same in JS."""

import math

SHORT = {"<pad>": "PAD", "<bos>": "BOS", "<eos>": "EOS", "<unk>": "UNK"}


def chance(share):
    """A probability as text with three digits, rounded as the page does it."""
    return f"{math.floor(share * 1000 + 0.5) / 1000:.3f}" if share >= 0.0005 else "<0.001"


def seen(token):
    """A token as it is said: spaces can be seen."""
    return SHORT.get(token, token if token.strip() else "␣")


def shorten(text, most):
    """At most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(token, most=None):
    """A token as matplotlib draws it, which reads a formula between dollars. most: letters, None for all of them."""
    token = seen(token)
    return (token if most is None else shorten(token, most)).replace("$", r"\$")
