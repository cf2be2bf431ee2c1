"""What `softmax_lab` says: {key: (English, Korean)}."""

PHRASES = {
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
}
