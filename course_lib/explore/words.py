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
}


def words(name):
    """{language: {key: phrase}} of one explorable, with what all share."""
    entries = CATALOGUE[""] | CATALOGUE[name]
    return {
        language: {key: phrases[at] for key, phrases in entries.items()} for at, language in enumerate(LANGUAGES)
    }
