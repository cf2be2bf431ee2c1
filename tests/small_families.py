"""Models that read, and models that write on, at sizes that are all different, in which no weight is zero."""

from course_lib.decoder_only import DecoderOnly
from course_lib.encoder_only import EncoderOnly

from .small_transformer import D_FF, D, H, spread

V, C = 11, 5  # symbols, classes
SIZES = {"d_model": D, "num_heads": H, "d_ff": D_FF, "num_layers": 2, "dropout": 0.0}


def make_reader(**options):
    """Two layers, five classes, no dropout unless asked for."""
    return spread(EncoderOnly(V, **(SIZES | {"num_classes": C} | options)))


def make_writer(**options):
    """Two layers, no dropout unless asked for."""
    return spread(DecoderOnly(V, **(SIZES | options)))
