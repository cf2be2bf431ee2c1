"""What `head_grid` says: {key: (English, Korean)}."""

PHRASES = {
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
}
