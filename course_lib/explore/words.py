"""Every label and sentence of the explorables, in English and Korean. {name} is filled in by Python and by JS alike."""

LANGUAGES = ("en", "ko")

# name of an explorable: {key: (English, Korean)}; "" holds what all share
CATALOGUE = {
    "": {
        "reset": ("reset", "처음으로"),
    },
    "bottleneck": {
        "task": ("task", "과제"),
        "copy": ("copy", "복사"),
        "reverse": ("reverse", "뒤집기"),
        "length": ("length", "길이"),
        "width": ("width", "폭"),
        "numbers": ("{width} numbers", "숫자 {width}개"),
        "by_length": ("Symbols right, by length", "길이에 따른 정답률"),
        "by_position": (
            "Symbols right, by position (length {longest})",
            "위치에 따른 정답률 (길이 {longest})",
        ),
        "length_axis": ("length of the string", "문자열의 길이"),
        "position_axis": ("position in the output", "출력에서의 위치"),
        "sentence": (
            "Task {task}: one vector of {width} numbers brings back {recall} % of the symbols of a string of {length} "
            "(mean of {seeds} seeds). At length {longest} the first position is right in {first} %, the last in "
            "{last} %.",
            "과제 {task}: 숫자 {width}개의 벡터 하나로 길이 {length}인 문자열의 기호 {recall} %를 되살립니다 "
            "(시드 {seeds}개의 평균). 길이 {longest}에서는 첫 위치의 {first} %, 마지막 위치의 {last} %가 맞습니다.",
        ),
    },
    "decode_stepper": {
        "step": ("step", "단계"),
        "back": ("step back", "한 단계 뒤로"),
        "forward": ("step on", "한 단계 앞으로"),
        "of": ("{step} of {all}", "{all} 중 {step}"),
        "forcing": ("teacher forcing", "교사 강요"),
        "free": ("free running", "자유 실행"),
        "instead": ("this step reads", "이 단계가 읽는 토큰"),
        "as_is": ("{token}, as it is", "{token} 그대로"),
        "swap": ("{token} instead ({share})", "대신 {token} ({share})"),
        "undo": ("take the error back", "오류 되돌리기"),
        "source": ("source: {text}", "원문: {text}"),
        "line": ("all steps of this run", "이 실행의 모든 단계"),
        "column": ("step {step}: reads {read}, writes {written}", "{step}단계: {read} 읽고 {written} 쓰기"),
        "reads": ("reads", "읽기"),
        "writes": ("writes", "쓰기"),
        "without": ("without the error", "오류가 없다면"),
        "moved": ("moved, 0 to 1", "분포의 이동, 0~1"),
        "next": ("Step {step}: likeliest next tokens", "{step}단계: 다음 토큰의 확률"),
        "next_without": ("The same step without the error", "오류가 없을 때의 같은 단계"),
        "nothing": ("nothing", "없음"),
        "here": (
            "Step {step} of {all}, {mode}: reads “{read}”, writes “{written}” (probability {share}).",
            "{all}단계 중 {step}단계, {mode}: “{read}” 을(를) 읽고 “{written}” 을(를) 씁니다 (확률 {share}).",
        ),
        "ended": (
            "Step {step}, {mode}: this run ended at step {all}.",
            "{step}단계, {mode}: 이 실행은 {all}단계에서 끝났습니다.",
        ),
        "untouched": ("No error was fed in.", "넣은 오류가 없습니다."),
        "impossible": (
            "In this mode “{token}” is not among the choices at step {place}, so no error was fed in.",
            "이 방식에서는 {place}단계에서 “{token}” 을(를) 고를 수 없어 오류를 넣지 않았습니다.",
        ),
        "spread": (
            "With “{token}” read instead of “{was}” at step {place}, {differ} of {rest} tokens from there on differ; "
            "the distribution moves by {mean} on average, most at step {at} ({most}).",
            "{place}단계에서 “{was}” 대신 “{token}” 을(를) 읽으면 그 단계부터 토큰 {rest}개 중 {differ}개가 "
            "달라집니다. 분포는 평균 {mean} 움직이고, {at}단계에서 가장 많이 움직입니다 ({most}).",
        ),
    },
    "alignment": {
        "view": ("view", "보기"),
        "lines": ("lines", "선"),
        "matrix": ("matrix", "행렬"),
        "decoded": ("decoded", "디코딩"),
        "mask": ("mask padding", "패딩 가리기"),
        "back": ("step back", "한 단계 뒤로"),
        "forward": ("step on", "한 단계 앞으로"),
        "of": ("{step} of {all}", "{all} 중 {step}"),
        "source": ("source", "원문"),
        "target": ("target", "출력"),
        "padding": ("padding", "패딩"),
        "row_label": ("{token}: mostly {most}, {share}", "{token}: 주로 {most}, {share}"),
        "sentence": (
            "Step {step} of {all}: {token} looks most at {most} (position {at}, weight {share}); the weights of the "
            "row sum to {total}.",
            "{all}단계 중 {step}단계: {token} 은(는) {most} 을(를) 가장 많이 봅니다 (위치 {at}, 가중치 {share}). "
            "이 행의 가중치 합은 {total}입니다.",
        ),
        "nothing": (
            "Step {step} of {all}: {token} may look at nothing, so its row is all zeros.",
            "{all}단계 중 {step}단계: {token} 은(는) 볼 수 있는 위치가 없어 행이 모두 0입니다.",
        ),
    },
    "score_lab": {
        "left": ("first score", "첫째 점수"),
        "right": ("second score", "둘째 점수"),
        "dot": ("dot", "내적"),
        "general": ("general", "일반(W)"),
        "additive": ("additive", "덧셈형"),
        "scaled": ("scaled dot", "스케일 내적"),
        "query_x": ("query x", "쿼리 x"),
        "query_y": ("query y", "쿼리 y"),
        "w00": ("W₁₁", "W₁₁"),
        "w01": ("W₁₂", "W₁₂"),
        "w10": ("W₂₁", "W₂₁"),
        "w11": ("W₂₂", "W₂₂"),
        "plane": ("Query, keys and contexts in the plane", "평면 위의 쿼리, 키, 문맥"),
        "handle": (
            "query at ({x}, {y}); arrow keys move it",
            "쿼리 위치 ({x}, {y}); 화살표 키로 움직입니다",
        ),
        "key": ("key", "키"),
        "score": ("score", "점수"),
        "weight": ("weight", "가중치"),
        "context": ("context", "문맥"),
        "sentence": (
            "Query ({x}, {y}). {left}: key {left_key} gets weight {left_weight}, context {left_context}. "
            "{right}: key {right_key} gets weight {right_weight}, context {right_context}.",
            "쿼리 ({x}, {y}). {left}: 키 {left_key}의 가중치 {left_weight}, 문맥 {left_context}. "
            "{right}: 키 {right_key}의 가중치 {right_weight}, 문맥 {right_context}.",
        ),
    },
    "softmax_lab": {
        "temperature": ("temperature", "온도"),
        "d_k": ("d_k", "d_k"),
        "root": ("divide by √d_k", "√d_k로 나누기"),
        "divided": ("divided by √d_k", "√d_k로 나눔"),
        "raw": ("not divided by √d_k", "√d_k로 나누지 않음"),
        "with_root": ("with √d_k", "√d_k로 나눔"),
        "without_root": ("without", "나누지 않음"),
        "key": ("key", "키"),
        "product": ("q · k", "q · k"),
        "score": ("score", "점수"),
        "weight": ("weight", "가중치"),
        "scores": ("Variance of the scores: {variance}", "점수의 분산: {variance}"),
        "entropy": ("Entropy in bits", "엔트로피(비트)"),
        "norm": ("Norm of the softmax Jacobian", "소프트맥스 야코비안의 노름"),
        "sentence": (
            "d_k = {d_k}, {how}, temperature {temperature}: the scores have variance {variance}. “{token}” gets the "
            "largest weight, {share}; entropy {entropy} of {most} bits, norm of the softmax Jacobian {norm}.",
            "d_k = {d_k}, {how}, 온도 {temperature}: 점수의 분산은 {variance}입니다. 가중치가 가장 큰 키는 “{token}” "
            "({share})입니다. 엔트로피는 최대 {most}비트 중 {entropy}비트, 소프트맥스 야코비안의 노름은 {norm}입니다.",
        ),
        "saturated": (
            "The softmax is saturated: next to no gradient passes through it.",
            "소프트맥스가 포화되어 기울기가 거의 지나가지 못합니다.",
        ),
        "alone": (
            "A single key gets weight 1, whatever its score.",
            "키가 하나뿐이면 점수와 상관없이 가중치는 1입니다.",
        ),
    },
    "mask_builder": {
        "causal": ("causal", "인과 마스크"),
        "padding": ("padding at the end", "끝의 패딩 수"),
        "changed": ("change a token", "바꿀 토큰"),
        "none": ("none", "없음"),
        "query": ("query", "쿼리"),
        "key": ("key", "키"),
        "weights": ("Weights", "가중치"),
        "weights_dense": ("Weights (white: hidden, −∞)", "가중치 (흰 칸: 가려짐, −∞)"),
        "grid": (
            "Scores and weights: arrow keys move, space opens or closes a cell",
            "점수와 가중치: 화살표 키로 이동, 스페이스로 칸 열고 닫기",
        ),
        "pad": ("pad", "패딩"),
        "new": ("changed", "바뀜"),
        "none_left": ("nothing left", "남은 키 없음"),
        "sum": ("sum", "합"),
        "change": ("output moves by", "출력의 변화"),
        "leaks": ("LEAK", "누출"),
        "cell": (
            "query {row} {query}, key {column} {key}: score {score}, weight {weight}",
            "쿼리 {row} {query}, 키 {column} {key}: 점수 {score}, 가중치 {weight}",
        ),
        "open": ("{open} of {all} cells are open.", "{all}칸 중 {open}칸이 열려 있습니다."),
        "by_yours": ("Weights and outputs come from {name}.", "가중치와 출력은 {name} 함수의 결과입니다."),
        "by_course": (
            "Weights and outputs come from the course's own function.",
            "가중치와 출력은 강의가 제공하는 함수의 결과입니다.",
        ),
        "no_answer": (
            "No kernel answers: weights and outputs come from the course's own function, not from {name}.",
            "커널이 응답하지 않습니다. 가중치와 출력은 {name} 함수가 아니라 강의가 제공하는 함수의 결과입니다.",
        ),
        "waiting": ("Asking {name} …", "{name} 함수에 묻는 중 …"),
        "problem": ("{name} stopped: “{problem}”.", "{name} 함수가 멈췄습니다: “{problem}”."),
        "empty": (
            "Nothing is left for row {rows}: softmax over −∞ alone is 0/0, NaN. The course gives it weights 0 and "
            "output 0.",
            "{rows}행에는 남은 키가 없습니다. −∞만의 소프트맥스는 0/0, 곧 NaN입니다. 이 강의에서는 가중치와 출력을 "
            "0으로 둡니다.",
        ),
        "broken": ("Row {rows} holds NaN or infinity.", "{rows}행에 NaN이나 무한대가 있습니다."),
        "sums": ("The weights of row {rows} do not sum to 1.", "{rows}행의 가중치 합이 1이 아닙니다."),
        "peeks": (
            "Hidden cells with weight: {count}, up to {most}.",
            "가려졌는데 가중치가 있는 칸: {count}개, 최대 {most}.",
        ),
        "moved": (
            "Token {at} “{token}” is changed, and the outputs of row {rows} move.",
            "토큰 {at} “{token}”을(를) 바꾸면 {rows}행의 출력이 달라집니다.",
        ),
        "still": (
            "Token {at} “{token}” is changed, and no output moves.",
            "토큰 {at} “{token}”을(를) 바꾸어도 달라지는 출력이 없습니다.",
        ),
        "leak": (
            "LEAK: row {rows} may not look at it, and its output moves by up to {most}.",
            "누출: {rows}행은 이 토큰을 볼 수 없는데도 출력이 최대 {most} 달라집니다.",
        ),
        "tight": ("No leak.", "누출은 없습니다."),
        "blind": (
            "Row {rows} may look at it, and its output stays the same.",
            "{rows}행은 이 토큰을 볼 수 있는데도 출력이 그대로입니다.",
        ),
    },
    "head_grid": {
        "query": ("query", "쿼리"),
        "key": ("key", "키"),
        "layer": ("layer", "층"),
        "head": ("head", "헤드"),
        "weight": ("weight", "가중치"),
        "largest": ("largest of the head", "헤드의 최댓값"),
        "second": ("compare with", "비교할 헤드"),
        "none": ("none", "없음"),
        "off": ("switch the opened head off", "연 헤드 끄기"),
        "stretch": ("colours up to each head's largest", "헤드마다 최댓값까지 색 넓히기"),
        "is_off": ("off", "꺼짐"),
        "head_name": ("layer {layer}, head {head}", "{layer}층 헤드 {head}"),
        "all_heads": ("All heads", "모든 헤드"),
        "grid": ("All heads; arrow keys open one", "모든 헤드, 화살표 키로 열기"),
        "grid_costs": (
            "All heads; below, what switching it off costs",
            "모든 헤드, 아래 숫자는 그 헤드를 껐을 때의 손해",
        ),
        "sharp": ("largest weight of a row {share} on average", "행의 최대 가중치 평균 {share}"),
        "costs": ("switched off it costs {text}", "끄면 손해 {text}"),
        "failed": ("asking what it costs failed", "손해를 묻다가 실패함"),
        "looks": (
            "In {name}, query {row} “{query}” looks most at key {column} “{token}”, weight {share}.",
            "{name}: 쿼리 {row} “{query}”은(는) 키 {column} “{token}”을(를) 가장 많이 봅니다 (가중치 {share}).",
        ),
        "nothing": (
            "In {name}, query {row} “{query}” may look at nothing, so its row is all zeros.",
            "{name}: 쿼리 {row} “{query}”은(는) 볼 수 있는 키가 없어 행이 모두 0입니다.",
        ),
        "differ": (
            "The two heads put {share} of a query's weight on different keys, mean over the queries (0: one and the "
            "same map, 1: nothing in common).",
            "두 헤드에서 서로 다른 키에 놓인 가중치는 쿼리 평균 {share}입니다 (0: 같은 지도, 1: 겹치는 곳 없음).",
        ),
        "cost": (
            "With {head} off, {name} says {text} (above 0: the model is worse without it).",
            "{head} 꺼짐: {name}의 대답은 {text}입니다 (0보다 크면 이 헤드 없이 모델이 나빠짐).",
        ),
        "costliest": (
            "Asked so far: {asked} of {all} heads. It costs most to lose {head} ({text}).",
            "지금까지 물은 헤드는 {all}개 중 {asked}개입니다. 잃을 때 손해가 가장 큰 것은 {head} ({text})입니다.",
        ),
        "waiting": ("With {head} off: asking {name} …", "{head} 꺼짐: {name}에 묻는 중 …"),
        "no_answer": (
            "No kernel has answered, so what it costs to lose {head} is not known. Known are the {asked} of {all} "
            "heads that {name} was asked about before.",
            "{head} 꺼짐: 커널의 대답이 없어 손해를 알 수 없습니다. 앞서 {name}에 물은 헤드 {all}개 중 {asked}개만 "
            "알려져 있습니다.",
        ),
        "problem": (
            "With {head} off, {name} stopped: “{problem}”.",
            "{head} 꺼짐: {name} 함수가 멈췄습니다: “{problem}”.",
        ),
    },
    "position_waves": {
        "position": ("position", "위치"),
        "pair": ("pair", "쌍"),
        "base": ("base", "밑수"),
        "shuffle": ("shuffle the words", "단어 섞기"),
        "added": ("add positions to the words", "단어에 위치 더하기"),
        "dimension": ("dimension", "차원"),
        "distance": ("distance k", "거리 k"),
        "sine": ("sine", "사인"),
        "cosine": ("cosine", "코사인"),
        "clocks": (
            "The hands at position {position}: sine, cosine, and the positions of a whole turn",
            "위치 {position}의 시곗바늘: 사인, 코사인, 그리고 한 바퀴에 드는 위치 수",
        ),
        "turn": ("turn: {turn}", "한 바퀴: {turn}"),
        "heat": ("The encoding, one row a position", "위치 인코딩, 한 행이 한 위치"),
        "heat_label": (
            "{count} positions in {width} dimensions; marked are position {position} and pair {pair}",
            "위치 {count}개, 차원 {width}개. 위치 {position}과(와) 쌍 {pair}이(가) 표시됨",
        ),
        "waves": ("The waves of pair {pair}", "쌍 {pair}의 파동"),
        "similarity": ("PE(p) · PE(p + k)", "PE(p) · PE(p + k)"),
        "from": ("from p = {position}", "p = {position}에서"),
        "likeness": (
            "from position {position}: {length} at distance 0, {near} one step away",
            "위치 {position}에서: 거리 0에서 {length}, 한 걸음 떨어지면 {near}",
        ),
        "verb": (
            "What self-attention makes of 본다 (“sees”) in the sentence and in its shuffle",
            "원래 문장과 섞은 문장에서 셀프 어텐션이 만든 “본다”의 벡터",
        ),
        "apart": ("Distance of the two vectors: {distance}", "두 벡터의 거리: {distance}"),
        "sentence": (
            "Position {position}: the hand of pair {pair} has sine {sine} and cosine {cosine}; a whole turn takes "
            "{turn} positions. PE(p) · PE(p + k) is {length} for k = 0 and {near} for k = {step}; at every distance it "
            "is what it is from position 0 (largest difference {off}).",
            "위치 {position}: 쌍 {pair}의 바늘은 사인 {sine}, 코사인 {cosine}이고, 한 바퀴 도는 데 위치 {turn}개가 "
            "걸립니다. PE(p) · PE(p + k)는 k = 0에서 {length}, k = {step}에서 {near}이며, 어느 거리에서나 위치 0에서 "
            "잰 값과 같습니다 (최대 차이 {off}).",
        ),
        "without": (
            "Words without positions: one self-attention (width 8, W drawn once) gives 본다 in “{text}” a vector that "
            "is {distance} away from its vector in the sentence.",
            "위치를 더하지 않은 단어: 셀프 어텐션 한 번(폭 8, 고정된 W)을 거친 “{text}”의 “본다” 벡터는 원래 문장의 "
            "벡터와 거리가 {distance}입니다.",
        ),
        "with": (
            "Words with positions added (base {base}): one self-attention (width 8, W drawn once) gives 본다 in "
            "“{text}” a vector that is {distance} away from its vector in the sentence.",
            "위치(밑수 {base})를 더한 단어: 셀프 어텐션 한 번(폭 8, 고정된 W)을 거친 “{text}”의 “본다” 벡터는 원래 "
            "문장의 벡터와 거리가 {distance}입니다.",
        ),
    },
}


def words(name):
    """{language: {key: phrase}} of one explorable, with what all share."""
    entries = CATALOGUE[""] | CATALOGUE[name]
    return {language: {key: phrases[at] for key, phrases in entries.items()} for at, language in enumerate(LANGUAGES)}
