"""What people write for `MultiHeadAttention` instead: masks that do not reach the heads as they should."""

import torch

from course_lib.checking import mistake

from .multi_head_attention_module_mistakes import Layers


@mistake(
    "`forward` takes a mask and keeps it to itself: padding and future are seen. "
    "What does your call of `masked_attention` get as its fourth argument?",
    source="A047",
)
class MaskKeptBack(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, torch.ones_like(mask))


@mistake(
    "The mask holds in training alone; with `eval()` every query sees everything, and what is measured is no longer "
    "what was trained. What, apart from dropout, may depend on `self.training`?",
    source="A054; a causal mask that existed in training only, so that validation saw the future",
)
class MaskInTrainingOnly(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, mask | (not self.training))


@mistake(
    "The mask is turned round on its way: the heads look at exactly what was to be hidden. "
    "What does True mean in this course, and what in `nn.MultiheadAttention`?",
    source="A130",
)
class MaskTurnedRound(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, ~mask)


@mistake(
    "The heads get the mask without an axis of their own, so that row b of the batch is read as head b wherever the "
    "sizes allow it. Where does `unsqueeze` have to put a 1?",
    source="A048's silent kin; it raises until H = B",
)
class MaskWithoutHeadAxis(Layers):
    def forward(self, query, key, value, mask):
        return self.W_O(self.heads(self.W_Q(query), self.W_K(key), self.W_V(value), mask))


@mistake(
    "`mask.unsqueeze(1)` counts from the front: (B, T, S) gets its head axis there, but (T, S) becomes (T, 1, S), and "
    "its queries meet the heads. Which index puts a 1 before the last two axes of either?",
    source="A054: a mask of another rank; written for masks (B, T, S), met by a causal mask (T, S)",
)
class MaskAxisFromTheFront(Layers):
    def forward(self, query, key, value, mask):
        return self.W_O(self.heads(self.W_Q(query), self.W_K(key), self.W_V(value), mask.unsqueeze(1)))


MISTAKES = (MaskKeptBack, MaskInTrainingOnly, MaskTurnedRound, MaskWithoutHeadAxis, MaskAxisFromTheFront)
