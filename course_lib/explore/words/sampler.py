"""What `sampler` says: {key: (English, Korean)}."""

PHRASES = {
    "sentence": ("sentence", "원문"),
    "width": ("beam width", "빔 너비"),
    "step": ("step", "단계"),
    "of": ("{step} of {all}", "{step} / {all}"),
    "back": ("step back", "한 단계 뒤로"),
    "forward": ("step on", "한 단계 앞으로"),
    "alpha": ("length penalty α", "길이 벌점 α"),
    "temperature": ("temperature", "온도"),
    "top_k": ("top-k", "top-k"),
    "top_p": ("top-p", "top-p"),
    "off": ("off", "끔"),
    "draw": ("draw a text", "문장 뽑기"),
    "start": ("start", "시작"),
    "tree": ("The beam as a tree; arrow keys choose a node", "트리로 본 빔, 화살표 키로 노드 고르기"),
    "band": ("the {width} best of a step", "단계마다 상위 {width}개"),
    "open": ("goes on, or has ended", "계속되거나 끝난 문장"),
    "best": ("highest score so far", "지금까지 최고 점수"),
    "left": ("left out", "탈락"),
    "finished": ("ended, with its score", "끝난 문장의 점수"),
    "node": (
        "{token}, step {column}, place {row}, probability {chance}, sum {sum}, {fate}",
        "{token}, {column}단계 {row}위, 확률 {chance}, 합 {sum}, {fate}",
    ),
    "goes_on": ("goes on", "계속됨"),
    "ended": ("ended, score {score}", "끝남, 점수 {score}"),
    "texts": (
        "Ended texts by score = sum / ((5 + tokens) / 6)^α",
        "끝난 문장, 점수 = 합 / ((5 + 토큰 수) / 6)^α 순",
    ),
    "text": ("text", "문장"),
    "tokens": ("tokens", "토큰 수"),
    "sum": ("sum of log p", "log p의 합"),
    "score": ("score", "점수"),
    "next_first": ("The first token", "첫 토큰"),
    "next": ("Next after “{prefix}” (sum {sum})", "“{prefix}” 다음 (합 {sum})"),
    "outlined": ("outlined: the model", "테두리: 모델의 확률"),
    "filled": ("filled: what is drawn by", "채움: 뽑을 때의 확률"),
    "rest": ("the other {count}", "나머지 {count}개"),
    "drawn_texts": ("Drawn from the start, with the model's sum of log p", "처음부터 뽑은 문장과 모델의 log p 합"),
    "drawn_by": (
        "temperature {temperature}, top-k {top_k}, top-p {top_p}",
        "온도 {temperature}, top-k {top_k}, top-p {top_p}",
    ),
    "nothing_drawn": ("nothing yet", "아직 없음"),
    "state": (
        "“{text}”, beam of width {width}, step {step} of {all}. Texts that go on: {going}; texts that have ended: "
        "{ended}.",
        "“{text}”, 너비 {width}의 빔, {all}단계 중 {step}단계. 계속되는 문장 {going}개, 끝난 문장 {ended}개.",
    ),
    "front": (
        "In front at α = {alpha}: “{text}”, tokens {length}, sum {sum}, score {score}.",
        "α = {alpha}일 때 선두: “{text}”, 토큰 {length}개, 합 {sum}, 점수 {score}.",
    ),
    "likeliest_first": (
        "The likeliest first token is “{token}”, probability {chance}.",
        "가장 그럴듯한 첫 토큰은 “{token}”, 확률 {chance}입니다.",
    ),
    "likeliest": (
        "After “{prefix}” the likeliest token is “{token}”, probability {chance}.",
        "“{prefix}” 다음으로 가장 그럴듯한 토큰은 “{token}”, 확률 {chance}입니다.",
    ),
    "drawn_with": (
        "At temperature {temperature}, top-k {top_k}, top-p {top_p} it is drawn with probability {chance}; tokens "
        "that can be drawn: {left} of {all}.",
        "온도 {temperature}, top-k {top_k}, top-p {top_p}에서 뽑힐 확률은 {chance}, 뽑힐 수 있는 토큰은 {all}개 중 "
        "{left}개입니다.",
    ),
    "over": (
        "After “{prefix}” and its end token nothing follows.",
        "“{prefix}”: 끝 토큰 다음에는 아무것도 오지 않습니다.",
    ),
    "full": (
        "“{prefix}” has {length} tokens, as many as may be written.",
        "“{prefix}”: 쓸 수 있는 최대 토큰 수 {length}개에 이르렀습니다.",
    ),
    "last_drawn": ("Last drawn: “{text}”, sum {sum}.", "마지막으로 뽑은 문장: “{text}”, 합 {sum}."),
    "waiting": ("“{text}”: asking {name} …", "“{text}”: {name} 함수에 묻는 중 …"),
    "no_answer": ("“{text}”: no kernel answers, so there is no tree.", "“{text}”: 커널의 대답이 없어 나무가 없습니다."),
    "drawing": ("asking {name} …", "{name} 함수에 묻는 중 …"),
    "not_drawn": ("no kernel answers", "커널의 대답이 없습니다"),
    "failed": ("“{text}”: {name} stopped: “{problem}”.", "“{text}”: {name} 함수가 멈췄습니다: “{problem}”."),
    "stopped": ("{name} stopped: “{problem}”", "{name} 함수가 멈췄습니다: “{problem}”"),
}
