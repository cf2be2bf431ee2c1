"""What `cost` says: {key: (English, Korean)}."""

PHRASES = {
    "length": ("tokens N", "토큰 수 N"),
    "width": ("width D", "너비 D"),
    "heads": ("heads H", "헤드 수 H"),
    "layers": ("layers L", "층 수 L"),
    "texts": ("texts at once B", "한 번에 처리하는 글 B"),
    "size": ("bytes a number b", "수 하나의 바이트 b"),
    "kind": ("attention", "어텐션"),
    "full": ("full", "전체"),
    "tiled": ("full, tiled", "전체, 타일로 나눔"),
    "window": ("window w", "윈도 w"),
    "linear": ("linear", "선형"),
    "shared": ("keys and values", "키와 값"),
    "all": ("of every head", "헤드마다"),
    "quarter": ("one for 4 heads", "헤드 4개에 하나"),
    "one": ("one for all heads", "모든 헤드에 하나"),
    "measure": ("measure here", "여기서 재기"),
    "alone": ("Only a running notebook can measure.", "재는 것은 실행 중인 노트북에서만 됩니다."),
    "chart": ("Multiplications: one layer, one text", "곱셈 수: 층 하나, 글 하나"),
    "tokens": ("tokens N", "토큰 수 N"),
    "attention": ("attention", "어텐션"),
    "rest": ("projections and feed-forward", "투영과 피드포워드"),
    "gru": ("GRU as wide", "같은 너비의 GRU"),
    "bars": ("Memory, texts at once: {texts}", "메모리, 한 번에 글 {texts}개"),
    "laptop": ("laptop 16 GB", "노트북 16 GB"),
    "accelerator": ("large accelerator 80 GB", "대형 가속기 80 GB"),
    "table": ("What grows how", "무엇이 얼마나 늘어나는가"),
    "formula": ("formula", "공식"),
    "now": ("now", "지금"),
    "projections": ("projections", "투영"),
    "feed_forward": ("feed-forward", "피드포워드"),
    "weights": ("weights", "가중치"),
    "scores": ("scores of one layer", "한 층의 점수"),
    "cache": ("cache", "캐시"),
    "states": ("states", "상태"),
    "note": (
        "2N, 2D, 2H: the factor if that number is doubled. {key_width}Multiplications: of matrix products. Scores: one "
        "layer at a time, when training all of them. Weights and cache: all layers. Left out: embeddings and other "
        "activations. 1 GB = 10⁹ bytes.",
        "2N, 2D, 2H: 그 수를 두 배로 할 때 몇 배가 되는지. {key_width}곱셈은 행렬 곱만 셉니다. 점수: 한 번에 층 "
        "하나, 학습할 때는 모든 층. 가중치와 캐시: 모든 층. 임베딩과 다른 활성값은 뺐습니다. 1 GB = 10⁹바이트.",
    ),
    "key_width": ("K = {width}: width of all keys of a token. ", "K = {width}: 토큰 하나의 키 전체의 너비. "),
    "times": ("Measured here: one layer, one text", "여기서 잰 시간: 층 하나, 글 하나"),
    "time": ("ms", "ms"),
    "measured_factor": ("measured", "잰 배수"),
    "counted_factor": ("counted", "센 배수"),
    "square": (
        "At {length} tokens attention to all pairs takes {share} of a layer's multiplications.",
        "토큰 {length}개에서는 모든 쌍을 보는 어텐션이 한 층 곱셈의 {share}를 차지합니다.",
    ),
    "covers": (
        "The window of {window} covers all {length} tokens, so it saves nothing: attention takes {share} of a layer's "
        "multiplications.",
        "윈도 {window}이(가) 토큰 {length}개를 모두 덮으므로 줄어드는 것이 없습니다. 어텐션이 한 층 곱셈의 {share}를 "
        "차지합니다.",
    ),
    "in_window": (
        "At {length} tokens the window of {window} takes {share} of a layer's multiplications, and no more of a longer "
        "text.",
        "토큰 {length}개에서는 윈도 {window}의 어텐션이 한 층 곱셈의 {share}를 차지하며, 글이 더 길어져도 "
        "그대로입니다.",
    ),
    "is_linear": (
        "At {length} tokens linear attention takes {share} of a layer's multiplications, and no more of a longer text.",
        "토큰 {length}개에서는 선형 어텐션이 한 층 곱셈의 {share}를 차지하며, 글이 더 길어져도 그대로입니다.",
    ),
    "crosses": (
        "Beyond {crossing} tokens it takes more than all the rest.",
        "토큰 {crossing}개를 넘으면 나머지를 모두 합친 것보다 많습니다.",
    ),
    "one_layer": (
        "One layer, one text: {layer} multiplications. A GRU as wide: {gru}, but in {length} steps that wait for each "
        "other.",
        "층 하나, 글 하나: 곱셈 {layer}번. 같은 너비의 GRU는 {gru}번이지만, 앞 단계를 기다려야 하는 {length}단계로 "
        "나뉩니다.",
    ),
    "in_all": ("All layers and texts ({layers}·{texts}): {total}.", "모든 층과 글 ({layers}·{texts}): {total}번."),
    "memory": (
        "Memory: weights {weights}, scores of one layer {scores}, cache {cache}. The largest: {most}.",
        "메모리: 가중치 {weights}, 한 층의 점수 {scores}, 캐시 {cache}. 가장 큰 것: {most}.",
    ),
    "memory_linear": (
        "Memory: weights {weights}, no scores, states {cache}. The largest: {most}.",
        "메모리: 가중치 {weights}, 점수 없음, 상태 {cache}. 가장 큰 것: {most}.",
    ),
    "fits_laptop": ("Together {sum}: not more than a laptop's 16 GB.", "합계 {sum}: 노트북의 16 GB를 넘지 않습니다."),
    "fits_accelerator": (
        "Together {sum}: too much for a laptop's 16 GB, not for a large accelerator's 80 GB.",
        "합계 {sum}: 노트북의 16 GB는 넘고, 대형 가속기의 80 GB는 넘지 않습니다.",
    ),
    "fits_neither": (
        "Together {sum}: too much even for a large accelerator's 80 GB.",
        "합계 {sum}: 대형 가속기의 80 GB도 넘습니다.",
    ),
    "twice_heads": (
        "Twice the heads: multiplications {layer}, scores {scores}, cache {cache}.",
        "헤드를 두 배로 하면: 곱셈 {layer}, 점수 {scores}, 캐시 {cache}.",
    ),
    "heads_linear": (
        "Twice the heads: multiplications {layer}, states {cache}.",
        "헤드를 두 배로 하면: 곱셈 {layer}, 상태 {cache}.",
    ),
    "most_heads": ("There are as many heads as numbers in a vector.", "헤드 수가 벡터의 너비와 같습니다."),
    "measured": ("Measured here with {name}: {rows}.", "{name}(으)로 여기서 잰 시간: {rows}."),
    "first_row": ("{length} tokens {ms} ms", "토큰 {length}개 {ms} ms"),
    "row": ("{length} tokens {ms} ms, {factor}", "토큰 {length}개 {ms} ms, {factor}"),
    "counts_say": ("By the counts: {factors}.", "센 배수: {factors}."),
    "all_heads": (
        "The block that was measured has keys for every head.",
        "잰 블록에는 헤드마다 키가 있습니다.",
    ),
    "stopped": (
        "More than {longest} tokens would have taken too long.",
        "토큰 {longest}개보다 길면 재는 데 너무 오래 걸립니다.",
    ),
    "too_wide": (
        "A layer as wide as this is too large to be measured here: choose a smaller width.",
        "이 너비의 층은 여기서 재기에 너무 큽니다. 더 작은 너비를 고르세요.",
    ),
    "raised": ("Measured here, {name} raised {problem}.", "여기서 재다가 {name}에서 오류가 났습니다: {problem}."),
    "waiting": ("Measuring …", "재는 중 …"),
    "no_answer": (
        "The kernel has not answered. Is it busy, or has it stopped? Then run this cell again.",
        "커널의 답이 없습니다. 다른 일을 하거나 멈췄다면, 이 셀을 다시 실행하세요.",
    ),
    "not_measured": ("This setting is not measured yet.", "이 설정은 아직 재지 않았습니다."),
}
