"""What `alignment` says: {key: (English, Korean)}."""

PHRASES = {
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
}
