"""What `score_lab` says: {key: (English, Korean)}."""

PHRASES = {
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
}
