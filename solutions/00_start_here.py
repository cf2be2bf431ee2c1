# ---
# jupyter:
#   course:
#     title: Start here
#     question: How does a lesson work, and how do scores become weights?
#     outcomes: [run a lesson and its checks, write a stable softmax over any axis]
#     minutes: 15
#     prerequisites: [Python, tensors]
#     exercises: [softmax]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 0 · Start here

# %% tags=["setup"]
import torch

from course_lib import check, hint, mine, progress, solution

# %% exercise="softmax" role="answer"
def softmax(scores, dim=-1):
    """Weights between 0 and 1 that sum to 1 along `dim`; same shape as scores."""
    ### BEGIN SOLUTION
    highest = scores.max(dim=dim, keepdim=True).values
    exponentials = torch.exp(scores - highest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION


# %% exercise="softmax" role="check"
check("softmax")
