"""What `mask_builder` says: {key: (English, Korean)}."""

PHRASES = {
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
}
