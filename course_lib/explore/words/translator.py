"""What `translator` says: {key: (English, Korean)}."""

PHRASES = {
    "example": ("example", "예문"),
    "typed": ("your own sentence", "직접 쓴 문장"),
    "sentence": ("your sentence", "문장"),
    "ask": ("translate", "번역하기"),
    "layer": ("layer", "층"),
    "head": ("head", "헤드"),
    "mean": ("mean of all", "전체 평균"),
    "back": ("step back", "한 단계 뒤로"),
    "forward": ("step on", "한 단계 앞으로"),
    "source": ("source", "원문"),
    "target": ("written", "번역"),
    "weight": ("weight", "가중치"),
    "probability": ("probability", "확률"),
    "alone": (
        "No kernel here: choose one of the examples.",
        "이 페이지에는 커널이 없습니다. 예문 가운데서 고르세요.",
    ),
    "lines": (
        "Who looks where: arrow keys choose a written token",
        "어디를 보는가: 화살표 키로 번역된 토큰 고르기",
    ),
    "token": ("{token}: looks most at {most}, {share}", "{token}: 가장 많이 보는 토큰 {most}, {share}"),
    "likely": ("probability {chance}", "확률 {chance}"),
    "where_mean": ("in layer {layer}, mean over heads", "{layer}층, 헤드 평균"),
    "where_head": ("in layer {layer}, head {head}", "{layer}층, 헤드 {head}"),
    "becomes": ("“{text}” becomes “{translation}”.", "“{text}” → “{translation}”."),
    "nothing_written": (
        "“{text}” becomes nothing: the end token came first.",
        "“{text}”: 끝 토큰이 먼저 나와 번역이 비어 있습니다.",
    ),
    "unended": ("There is no end token.", "끝 토큰이 없습니다."),
    "looks": (
        "Token {at} of {all}, “{token}”, looks most at “{most}” (weight {share}) {where}.",
        "토큰 {all}개 중 {at}번째 “{token}”은(는) “{most}”을(를) 가장 많이 봅니다 (가중치 {share}, {where}).",
    ),
    "nowhere": (
        "Token {at} of {all}, “{token}”, looks at nothing {where}: its row is all zeros.",
        "토큰 {all}개 중 {at}번째 “{token}”은(는) 아무것도 보지 않습니다 ({where}). 행이 모두 0입니다.",
    ),
    "chance": ("The model gave it probability {chance}.", "모델이 매긴 확률은 {chance}입니다."),
    "empty": ("Type a sentence first.", "먼저 문장을 쓰세요."),
    "waiting": ("“{text}”: asking {name} …", "“{text}”: {name} 함수에 묻는 중 …"),
    "no_answer": (
        "“{text}”: no kernel answers, so it is not translated. The examples can still be chosen.",
        "“{text}”: 커널의 대답이 없어 번역하지 못했습니다. 예문은 고를 수 있습니다.",
    ),
    "unknown": (
        "“{word}” is not a word of this grammar, or not with this particle. Near it: {near}. Which one was meant?",
        "“{word}”: 이 문법에 없는 단어이거나 함께 쓸 수 없는 조사입니다. 비슷한 말: {near}. 어느 것인가요?",
    ),
    "unknown_far": (
        "“{word}” is not a word of this grammar, or not with this particle, and nothing comes near it. Which words "
        "do the examples use?",
        "“{word}”: 이 문법에 없는 단어이거나 함께 쓸 수 없는 조사이고, 비슷한 말도 없습니다. 예문에는 어떤 단어가 "
        "쓰이나요?",
    ),
    "unseen": (
        "The grammar can read it, but this model has no id for {words}. Do the sentences that it was trained on hold "
        "such a word?",
        "문법은 읽을 수 있지만 이 모델의 어휘에는 {words} 토큰이 없습니다. 훈련 문장에 이 단어가 있었나요?",
    ),
    "failed": ("{name} stopped: “{problem}”.", "{name} 함수가 멈췄습니다: “{problem}”."),
}
