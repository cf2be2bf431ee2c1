"""What `decode_stepper` says: {key: (English, Korean)}."""

PHRASES = {
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
}
