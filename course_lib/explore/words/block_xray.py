"""What `block_xray` says: {key: (English, Korean)}."""

PHRASES = {
    "attention": ("attention", "어텐션"),
    "feed_forward": ("feed-forward", "피드포워드"),
    "shortcuts": ("shortcuts", "잔차 연결"),
    "norms": ("norms", "층 정규화"),
    "order": ("norms stand", "정규화 위치"),
    "post": ("after the sum (post)", "합 뒤 (post)"),
    "pre": ("before the part (pre)", "각 부분 앞 (pre)"),
    "block": ("block", "블록"),
    "of": ("{block} of {blocks}", "{block} / {blocks}"),
    "token": ("follow", "따라갈 토큰"),
    "input": ("into the block", "블록 입력"),
    "sum": ("+ shortcut", "+ 잔차 연결"),
    "norm": ("norm", "정규화"),
    "hidden": ("hidden layer", "은닉층"),
    "is_off": ("off", "꺼짐"),
    "stage": ("stage", "단계"),
    "shape": ("shape", "모양"),
    "alike": ("alike", "닮음"),
    "heard": ("{at} has heard of", "{at}이(가) 들은 토큰"),
    "table": ("Block {block}: the length of each token's vector", "블록 {block}: 각 토큰 벡터의 길이"),
    "length": ("length", "길이"),
    "mean_length": ("Mean length", "평균 길이"),
    "mean_alike": ("Mean cosine", "평균 코사인"),
    "gradient": ("Gradient", "기울기"),
    "depth": ("after block", "지나온 블록 수"),
    "curve": ("{name}: {first} at the input, {last} at the top", "{name}: 입력에서 {first}, 맨 위에서 {last}"),
    "dashed": (
        "Dashed: the blocks as they are, all parts on. Shaded: the opened block.",
        "점선: 모든 부분이 켜진 원래 블록. 회색: 열린 블록.",
    ),
    "all_on": ("All parts are on.", "모든 부분이 켜져 있습니다."),
    "off": ("Off: {parts}.", "꺼짐: {parts}."),
    "is_post": ("Norms stand after the sums (post-norm).", "정규화는 합 뒤에 있습니다 (post-norm)."),
    "is_pre": ("Norms stand before the parts (pre-norm).", "정규화는 각 부분 앞에 있습니다 (pre-norm)."),
    "adds_nothing": ("A part that is off adds 0 to the sum.", "꺼진 부분은 합에 0을 더합니다."),
    "hands_on": (
        "A part that is off hands on what it gets, as no shortcut goes around it.",
        "꺼진 부분은 옆으로 돌아가는 잔차 연결이 없으므로 받은 것을 그대로 넘깁니다.",
    ),
    "walk": (
        "Token {at} “{token}” goes into block {block} with length {first} and comes out with {last}; by then it has "
        "heard of {heard} of {count} tokens.",
        "토큰 {at} “{token}”은(는) 블록 {block}에 길이 {first}(으)로 들어가 {last}(으)로 나오며, 그때까지 토큰 "
        "{count}개 중 {heard}개를 들었습니다.",
    ),
    "whole": (
        "Over {blocks} blocks the mean length goes from {first} to {last} and the tokens' mean cosine from {apart} to "
        "{alike}; of a gradient of length 1 at the top, {gradient} reaches the input.",
        "블록 {blocks}개를 지나는 동안 평균 길이는 {first}에서 {last}(으)로, 토큰끼리의 평균 코사인은 {apart}에서 "
        "{alike}(으)로 바뀝니다. 맨 위에서 길이 1인 기울기는 입력에 {gradient}만큼 닿습니다.",
    ),
    "grows": ("The vectors grow from block to block.", "벡터가 블록을 지날수록 길어집니다."),
    "shrinks": ("The vectors shrink from block to block.", "벡터가 블록을 지날수록 짧아집니다."),
    "collapses": (
        "The tokens have all but become one: little is left to tell them apart.",
        "토큰들이 거의 하나가 되어 서로 구별하기 어렵습니다.",
    ),
    "fades": ("The gradient fades on its way down.", "기울기가 내려오면서 사라집니다."),
    "explodes": ("The gradient explodes on its way down.", "기울기가 내려오면서 폭발합니다."),
    "alone": (
        "Without attention no token hears of another.",
        "어텐션이 없으면 어떤 토큰도 다른 토큰을 듣지 못합니다.",
    ),
}
