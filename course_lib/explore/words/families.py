"""What `families` says: {key: (English, Korean)}."""

PHRASES = {
    "family": ("family", "모델 계열"),
    "encoder-only": ("encoder-only (BERT)", "인코더만 (BERT)"),
    "encoder-decoder": ("encoder–decoder (Transformer)", "인코더–디코더 (트랜스포머)"),
    "decoder-only": ("decoder-only (GPT)", "디코더만 (GPT)"),
    "written": ("tokens written so far", "지금까지 쓴 토큰"),
    "of": ("{written} of {all}", "{written} / {all}"),
    "cache": ("cache keys and values", "키와 값 캐시"),
    "text": (
        "What “{token}” may see; arrow keys choose a token",
        "“{token}”이(가) 볼 수 있는 토큰, 화살표 키로 토큰 고르기",
    ),
    "reads": ("encoder", "인코더"),
    "writes": ("decoder", "디코더"),
    "choice": ("{token}, may see {count} of {all} tokens", "{token}, 토큰 {all}개 중 {count}개를 볼 수 있음"),
    "query": ("query", "쿼리"),
    "key": ("key", "키"),
    "self_full": ("Self-attention: full", "셀프 어텐션: 전체"),
    "self_causal": ("Self-attention: causal", "셀프 어텐션: 인과"),
    "encoder": ("Encoder self-attention: full", "인코더 셀프 어텐션: 전체"),
    "decoder": ("Decoder self-attention: causal", "디코더 셀프 어텐션: 인과"),
    "cross": ("Cross-attention: full", "교차 어텐션: 전체"),
    "now": ("computed now", "지금 계산"),
    "before": ("computed before; of K and V: kept", "이전에 계산, K와 V는 보관"),
    "later": ("not written yet", "아직 쓰지 않음"),
    "hidden": ("hidden by the mask", "마스크가 가림"),
    "chosen": ("the chosen token's row", "고른 토큰의 행"),
    "counts": ("What writing costs", "쓰는 비용"),
    "cached": ("with the cache", "캐시 사용"),
    "anew": ("without", "캐시 없음"),
    "this_pass": ("scores, this pass", "점수, 이번 계산"),
    "all_passes": ("scores so far", "점수, 지금까지"),
    "per_layer": ("numbers kept a layer", "층마다 보관하는 수"),
    "per_model": ("in all layers ({layers})", "모든 층 ({layers})"),
    "score": (
        "A score is q · k of one head and layer, the hidden ones included.",
        "점수는 헤드 하나, 층 하나의 q · k이며 가려진 것도 셉니다.",
    ),
    "is_encoder-only": (
        "Encoder-only: every token may see every token, and nothing is written.",
        "인코더만: 모든 토큰이 모든 토큰을 볼 수 있고, 쓰는 것은 없습니다.",
    ),
    "is_encoder-decoder": (
        "Encoder–decoder: the source sees all of itself; what is written sees itself and what stands before it, and "
        "by cross-attention all of the source.",
        "인코더–디코더: 원문은 원문 전체를 봅니다. 쓰는 토큰은 자신과 그 앞의 토큰을 보고, 교차 어텐션으로 원문 "
        "전체를 봅니다.",
    ),
    "is_decoder-only": (
        "Decoder-only: source and target are one text, in which every token sees itself and what stands before it.",
        "디코더만: 원문과 번역이 한 글이고, 모든 토큰은 자신과 그 앞의 토큰만 봅니다.",
    ),
    "sees": ("“{token}” may see {seen}.", "“{token}”이(가) 볼 수 있는 토큰: {seen}."),
    "sees_cross": (
        "“{token}” may see {seen}, and by cross-attention all of the source: {source}.",
        "“{token}”이(가) 볼 수 있는 토큰: {seen}, 그리고 교차 어텐션으로 원문 전체: {source}.",
    ),
    "not_seen": ("Hidden from it: {hidden}.", "가려진 토큰: {hidden}."),
    "reach": (
        "However many layers there are, {count} of {all} tokens can reach it.",
        "층이 몇 개이든 토큰 {all}개 중 {count}개의 정보만 여기에 닿습니다.",
    ),
    "next": ("From its row “{next}” is written.", "이 행에서 “{next}”을(를) 씁니다."),
    "next_end": ("From its row the end is written.", "이 행에서 끝을 씁니다."),
    "not_yet": ("It is not written yet.", "아직 쓰지 않은 토큰입니다."),
    "pass_all": (
        "One pass computes all {rows} rows, {now} scores a head and layer. Nothing is kept.",
        "한 번에 {rows}행을 모두 계산합니다. 헤드와 층마다 점수 {now}개. 보관하는 것은 없습니다.",
    ),
    "pass_row": (
        "Tokens written so far: {written} of {all}. Now the row of “{token}” alone is computed: {now} scores a head "
        "and layer.",
        "지금까지 {all}개 중 {written}개 토큰을 썼습니다. 지금은 “{token}” 한 행만 계산합니다. 헤드와 층마다 점수 "
        "{now}개.",
    ),
    "pass_rows": (
        "Tokens written so far: {written} of {all}. Now {rows} rows are computed: {now} scores a head and layer.",
        "지금까지 {all}개 중 {written}개 토큰을 썼습니다. 지금은 {rows}행을 계산합니다. 헤드와 층마다 점수 {now}개.",
    ),
    "so_far": (
        "Scores so far: {cached} with the cache, {anew} without.",
        "지금까지의 점수: 캐시를 쓰면 {cached}개, 쓰지 않으면 {anew}개.",
    ),
    "keeps": (
        "Kept: keys and values of {growing} tokens, {layer} numbers a layer, {model} in all layers.",
        "보관: 토큰 {growing}개의 키와 값, 층마다 수 {layer}개, 모든 층에 {model}개.",
    ),
    "keeps_cross": (
        "Kept: keys and values of {growing} tokens of the decoder, and of {fixed} source tokens, which do not grow; "
        "{layer} numbers a layer, {model} in all layers.",
        "보관: 디코더 토큰 {growing}개의 키와 값, 그리고 늘지 않는 원문 토큰 {fixed}개의 키와 값. 층마다 수 {layer}개, "
        "모든 층에 {model}개.",
    ),
    "keeps_nothing": (
        "No keys and values are kept: each pass computes its rows anew.",
        "키와 값을 보관하지 않아, 매번 모든 행을 새로 계산합니다.",
    ),
    "agrees": ("Measured in your model: nothing outside the mask.", "모델에서 잰 결과: 마스크 밖의 영향은 없습니다."),
    "leaks": (
        "Measured in your model: cells outside the mask with an influence, marked “!”: {count}.",
        "모델에서 잰 결과: 마스크 밖인데 영향이 있는 칸 (“!” 표시) {count}개.",
    ),
    "unseen": (
        "Of these, in no grid, since the encoder would see what is written: {count}.",
        "그 가운데 어느 격자에도 없는 칸 (인코더가 쓰는 토큰을 봄) {count}개.",
    ),
    "blind": (
        "Cells inside the mask without any influence, marked “0”: {count}.",
        "마스크 안인데 영향이 없는 칸 (“0” 표시) {count}개.",
    ),
}
