"""Put calls and results into words: shapes, arguments, the learner's own values. Never an expected value."""

import dis
import inspect

import torch

from .compare import kind, relative_distance

SMALL = 8


def describe_value(value):
    """A tensor by its shape (small integer tensors by their entries), a callable by its name, the rest as it is."""
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point() and value.ndim <= 1 and value.numel() <= SMALL:
            return str(value.tolist())
        return str(tuple(value.shape))
    if isinstance(value, tuple | list):
        return "(" + ", ".join(describe_value(item) for item in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe_value(item)}" for key, item in value.items()) + "}"
    if callable(value):
        return f"<{getattr(value, '__name__', type(value).__name__)}>"
    return repr(value)


def argument_names(exercise, case):
    """The names of the case's arguments, in order, as the reference calls them."""
    if exercise.is_module:
        return [*["init", "state", "args"][: len(case.args)], *case.kwargs]
    parameters = list(inspect.signature(exercise.reference).parameters)
    return [*parameters[: len(case.args)], *case.kwargs]


def describe_call(exercise, case):
    """`softmax(scores=(2, 3), dim=1)`: the call that a case makes, tensors by shape."""
    values = [*case.args, *case.kwargs.values()]
    pairs = zip(argument_names(exercise, case), values, strict=True)
    return f"{exercise.name}({', '.join(f'{name}={describe_value(value)}' for name, value in pairs)})"


def describe_type(value):
    """What a returned thing is: 'a list', 'an integer tensor of shape (2, 3)', 'a tuple of 2 (a list, a float)'."""
    if isinstance(value, torch.Tensor):
        return f"{_article(kind(value))} tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} ({', '.join(map(describe_type, value))})"
    return _article(type(value).__name__)


def _article(word):
    return f"{'an' if word[:1] in tuple('aeiou') else 'a'} {word}"


def describe_difference(got, want):
    """Where two tensors of one shape differ most, the learner's own value there, and how the scales compare."""
    distance = relative_distance(got, want)
    flat = int(distance.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), distance.shape))
    wrong = int((distance > 1e-6).sum())
    place = f"at index {list(index)} your value is {got.flatten()[flat].item():.4g}" if index else "your value differs"
    text = f"{wrong} of {distance.numel()} entries differ; {place}" if distance.numel() > 1 else place
    own, target = got.to(torch.float64).norm().item(), want.to(torch.float64).norm().item()
    if torch.allclose(got.to(torch.float64), -want.to(torch.float64)):
        return text + "; every sign is reversed"
    if own > 1.2 * target:
        return text + "; your values are too large on the whole"
    if own < 0.8 * target:
        return text + "; your values are too small on the whole"
    return text


def small_grid(value):
    """The learner's own result as a few lines of numbers, or '' when it is not a small vector or matrix."""
    if not isinstance(value, torch.Tensor) or not 1 <= value.ndim <= 2 or not 1 <= value.numel() <= 30:
        return ""
    rows = value.reshape(-1, value.shape[-1]).tolist()
    texts = [[f"{entry:.3g}" if isinstance(entry, float) else str(entry) for entry in row] for row in rows]
    width = max(len(text) for row in texts for text in row)
    return "\n".join("  ".join(text.rjust(width) for text in row) for row in texts)


def is_empty(function):
    """Whether a function's body does nothing: `pass`, `...` or a docstring alone. A proxy may know it itself."""
    known = getattr(function, "is_empty", None)
    if known is not None:
        return known
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return all(step.opname in idle for step in dis.get_instructions(code)) and _returns_none(code)


def _returns_none(code):
    last = [step for step in dis.get_instructions(code) if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    return bool(last) and last[-1].argval is None
