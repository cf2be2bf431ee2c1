# ---
# jupyter:
#   course:
#     title: Start here
#     question: How does a lesson work, and how do scores become weights?
#     outcomes:
#     - run a lesson, read what a check says, and use hints and progress
#     - turn scores into weights with a softmax that is stable along any axis
#     - place Seq2Seq, attention and the Transformer in time, and name their parts in English and Korean
#     minutes: 15
#     prerequisites: [Python functions, tensors and their shapes]
#     exercises: [softmax]
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 0 · Start here
#
# **How does a lesson work, and how do scores become weights?** · 15 minutes
#
# You will leave this page able to run a lesson, to read what a check says when something is wrong, and to write the one
# function that every kind of attention shares: softmax.

# %% [markdown]
# ## How a lesson works
#
# A lesson is a story with one question. It opens with something that fails, measured on your machine; you build the
# idea that mends it, one function at a time; and it closes with the failure gone, measured again.
#
# Run a cell with **Shift + Enter**. The first cell of each lesson brings what it needs.

# %% tags=["setup"]
import torch
from course_lib import check, hint, mine, progress, solution
from course_lib.claims import claim

# %% [markdown]
# | you call | and get |
# | --- | --- |
# | `check("softmax")` | passed, not attempted yet, or *which mistake this is*, with a question that leads to the fix |
# | `hint("softmax")` | one more hint each time |
# | `solution("softmax")` | a worked answer, once yours has passed, or when you insist |
# | `mine("softmax")` | your own function, in any later lesson |
# | `progress()` | where you stand |
#
# When something is wrong, the last line of a check says which call showed it. Tensors stand there as their shapes:
# `seen in: softmax(scores=(3, 4))` is a call with a tensor of 3 rows and 4 columns. What your function prints is not shown
# in a check; to look inside, call it yourself in a new cell.
#
# Go from cell to cell: *Run All Cells* stops at the first exercise that is not written yet. And whenever the kernel was
# restarted, run the cells from the top again, or choose `Run > Run All Above Selected Cell`: variables are gone then, your
# answers are not.
#
# In a terminal, `python3 course.py reset 00 softmax` puts a stub back, and keeps what you had in `notebooks/backup/`.
#
# Nothing you write is ever overwritten without a backup, and a check never changes your work. Being wrong is the normal
# state of a person who is learning: the checks were built by collecting the mistakes that people really make.

# %% [markdown]
# ## From scores to weights
#
# All of attention rests on one small step: some numbers say how well things fit, and they must become weights that are
# positive and sum to 1. Numbers of the first kind are called **scores** (점수), those of the second **weights** (가중치).
#
# Dividing the scores by their sum is the first idea that comes to mind. *Before you run the next cell: what goes wrong
# for the scores 2, 1 and −3?*

# %%
scores = torch.tensor([2.0, 1.0, -3.0])
print(scores / scores.sum())

# %% [markdown]
# The sum is 0. And even where it is not, a negative score would get a negative weight. The **softmax** takes the
# exponential first, which is positive for every score:
#
# $$\mathrm{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# Adding the same constant to all scores changes nothing, because it cancels in the fraction: only *differences* of
# scores matter. *Predict: which of the two rows below gives the sharper weights, and do they have the same order?*

# %%
rows = torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
print(torch.softmax(rows, dim=-1))

# %% [markdown]
# The order is the same; ten times larger scores make a choice out of a preference. Lesson 4 comes back to this.
#
# The formula has a trap. *What will the next cell print for three scores that differ by 1 and 2, and lie near 1,000?*

# %%
large = torch.tensor([1000.0, 1001.0, 1002.0])
print(torch.exp(large) / torch.exp(large).sum())
claim("the formula, taken literally, fails near 1,000", torch.exp(large).isinf().all())

# %% [markdown]
# $e^{1000}$ does not fit into a floating-point number: it becomes ∞, and ∞/∞ is not a number (`nan`). The weights
# themselves are harmless, as those of (0, 1, 2) show. You know already what may be done to all scores of a row without
# changing a single weight.
#
# ## Your turn: `softmax`
#
# Write it for **any axis** and for **scores of any size**. Three rows of four scores are a tensor of shape (3, 4); with
# `dim=-1` each row becomes weights, with `dim=0` each column. Replace the line that raises, run the cell, then run the
# check below. If you like to see a diagnosis, write the formula as it stands first.


# %% exercise="softmax" role="answer"
def softmax(scores, dim=-1):
    """Weights along `dim`: positive, summing to 1, in the order of the scores.

    scores: floating tensor of any shape. dim: the axis along which the weights sum to 1. Returns the same shape.
    """
    ### BEGIN SOLUTION
    highest = scores.max(dim=dim, keepdim=True).values
    exponentials = torch.exp(scores - highest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION


# %% exercise="softmax" role="check"
check("softmax")

# %% [markdown]
# Passed? Then it is kept, and later lessons can use it: `mine("softmax")` gives it back, in this notebook or in any
# other. *With your own* function, the three large scores are no trouble:

# %% tags=["nbval-ignore-output"]
my_softmax = mine("softmax")
print(my_softmax(large))
shifted = my_softmax(large - 1000)
claim("shifting every score by 1,000 changes no weight", torch.allclose(my_softmax(large), shifted))

# %% [markdown]
# <!-- concept: L0-timeline -->
# ## Where we are going
#
# | year | step | what was new |
# | --- | --- | --- |
# | 2014 | Seq2Seq: Sutskever, Vinyals and Le; Cho et al. | one network reads a sentence into a vector, another writes from it |
# | 2015 | Bahdanau, Cho and Bengio | attention: while writing, look back at every word that was read |
# | 2015 | Luong, Pham and Manning | simpler scores, a simpler place for attention |
# | 2017 | Vaswani et al., the Transformer | attention alone: the recurrence is gone |
# | 2018 → | BERT (Devlin et al.), GPT (Radford et al.), today's models | one half of the Transformer each, and scale |
#
# Attention began as an aid to the recurrent network (RNN, 순환 신경망). Then the recurrence itself became the
# bottleneck, and was dropped. This course walks that road, and you build every step of it.

# %% [markdown]
# <!-- concept: L0-glossary -->
# ## Glossary · 용어집
#
# Each term appears with its Korean once more where a lesson uses it first.
#
# | English | 한국어 | in one line |
# | --- | --- | --- |
# | sequence to sequence (Seq2Seq) | 시퀀스-투-시퀀스 | one sequence in, another out, of any two lengths |
# | encoder, decoder | 인코더, 디코더 | the part that reads, the part that writes |
# | recurrent neural network (RNN) | 순환 신경망 | one step after another, a state carried along |
# | hidden state | 은닉 상태 | what the network remembers at one step |
# | context vector | 문맥 벡터 | what the decoder is told about the source |
# | bottleneck | 병목 | everything must pass through one narrow place |
# | token | 토큰 | one symbol of a sequence: a word, a piece of one, a letter |
# | vocabulary | 어휘 집합 | all tokens that a model knows |
# | embedding | 임베딩 | a token as a vector |
# | score | 점수 | how well a query fits a key, any number |
# | weight | 가중치 | a score after softmax, between 0 and 1 |
# | softmax | 소프트맥스 | scores to weights that sum to 1 |
# | attention | 어텐션 | a weighted mean, the weights chosen anew each time |
# | alignment | 정렬 | which source word belongs to which target word |
# | query, key, value | 쿼리, 키, 값 | what asks, what is compared, what is handed over |
# | self-attention | 셀프 어텐션 | queries, keys and values from the same sequence |
# | cross-attention | 교차 어텐션 | queries from one sequence, keys and values from another |
# | mask | 마스크 | which positions may be attended to: True = may |
# | causal | 인과적 | seeing the past only |
# | padding | 패딩 | filling that makes sequences equally long |
# | multi-head attention | 멀티헤드 어텐션 | several attentions side by side |
# | head | 헤드 | one of them |
# | positional encoding | 위치 인코딩 | where a token stands, as a vector |
# | residual connection | 잔차 연결 | output = input + what a layer adds |
# | layer normalisation | 층 정규화 | each token's vector brought to one scale |
# | feed-forward network | 피드포워드 신경망 | two linear layers, each token for itself |
# | warm-up | 워밍업 | the first steps of training, in which the learning rate rises |
# | label smoothing | 레이블 스무딩 | a little of the target's share goes to all other words |
# | Transformer | 트랜스포머 | blocks of attention and feed-forward networks |
# | teacher forcing | 교사 강요 | in training, the decoder reads the right tokens, not its own |
# | autoregressive | 자기회귀 | each new token depends on those already written |
# | greedy decoding | 탐욕적 디코딩 | always the likeliest token |
# | beam search | 빔 탐색 | several hypotheses kept at once |
# | length penalty | 길이 페널티 | what keeps a beam from preferring short texts |
# | sampling | 표본 추출, 샘플링 | each token drawn by its probability |
# | cache (KV cache) | 캐시 | keys and values of what was written, kept for the next step |
# | reference translation | 참조 번역 | what a person wrote, against which a model's text is counted |
# | cross-entropy | 교차 엔트로피 | how surprised the model is by the right token |
# | exposure bias | 노출 편향 | in training a decoder never reads its own mistakes |
# | total variation | 총변동 | how far two distributions are apart, from 0 to 1 |
# | gradient | 기울기 | how the loss changes with each number |
# | Jacobian | 야코비 행렬 | the table of all slopes, each output by each input |
# | temperature | 온도 | how choosy a softmax is |
# | entropy | 엔트로피 | how undecided weights are, in bits |
# | saturated | 포화 | so decided that no gradient is left |
# | memory | 메모리 | what cross-attention reads: the encoder's outputs |
# | permutation equivariant | 순열 등변 | shuffled in, shuffled out |
# | output projection | 출력 투영 | the matrix that mixes what the heads found |
# | rotary embedding (RoPE) | 회전 위치 임베딩 | queries and keys turned by their places |
# | encoder-only | 인코더 전용 | a model that reads a text both ways and writes nothing |
# | decoder-only | 디코더 전용 | a model that goes on with a text, from left to right |
# | language model | 언어 모델 | how likely each next token of a text is |
# | mean pooling | 평균 풀링 | one vector for a text: the mean of its tokens' |
# | classification | 분류 | a class for a whole text |
# | token tagging | 토큰 태깅, 토큰 분류 | a class for each token |
# | sentence embedding | 문장 임베딩 | a text as a vector |
# | masked language modelling | 마스크 언어 모델링 | guessing hidden words from both sides |
# | fine-tuning | 미세 조정 | training a trained model a little further, for a task |
# | tile | 타일 | a part of the keys, or of the scores, looked at at once |
# | sliding window | 슬라이딩 윈도우 | each query sees the last few keys alone |
# | sparse attention | 희소 어텐션 | only some pairs of queries and keys are looked at |
# | linear attention | 선형 어텐션 | weights without a softmax, so that all keys fit into one matrix |
# | grouped-query attention | 그룹 쿼리 어텐션 | several query heads share keys and values |

# %% [markdown]
# ## In short
#
# | | |
# | --- | --- |
# | scores | any numbers; only their differences count |
# | softmax | exponentials divided by their sum: positive, summing to 1, order kept |
# | stable | subtract the row's own maximum first: every exponent is at most 0 |
# | axis | the weights sum to 1 along `dim`, and along no other axis |
#
# Further reading: Bridle (1990) gave the softmax its name; Goodfellow, Bengio and Courville (2016, section 4.1) discuss
# overflow and underflow.
#
# **On Binder, take your work home.** A Binder session is forgotten when it ends, after about ten minutes without you. Two
# files hold your work. The notebook: save it, then choose `File > Download`. Your passed answers: choose
# `View > Show Hidden Files`, go to the top folder, open `.course`, right-click `work.py` and choose `Download`. To go on,
# put the notebook into `notebooks/` and `work.py` into `.course/`, and `mine("softmax")` finds your answer again.
#
# Where do you stand? The next lesson, `01_bottleneck`, opens with a network that reads a whole sentence into one vector,
# and forgets.

# %% tags=["nbval-ignore-output"]
progress()
