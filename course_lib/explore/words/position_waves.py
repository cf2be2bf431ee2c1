"""What `position_waves` says: {key: (English, Korean)}."""

PHRASES = {
    "position": ("position", "위치"),
    "pair": ("pair", "쌍"),
    "base": ("base", "밑수"),
    "shuffle": ("shuffle the words", "단어 섞기"),
    "added": ("add positions to the words", "단어에 위치 더하기"),
    "dimension": ("dimension", "차원"),
    "distance": ("distance k", "거리 k"),
    "sine": ("sine", "사인"),
    "cosine": ("cosine", "코사인"),
    "clocks": (
        "The hands at position {position}: sine, cosine, and the positions of a whole turn",
        "위치 {position}의 시곗바늘: 사인, 코사인, 그리고 한 바퀴에 드는 위치 수",
    ),
    "turn": ("turn: {turn}", "한 바퀴: {turn}"),
    "heat": ("The encoding, one row a position", "위치 인코딩, 한 행이 한 위치"),
    "heat_label": (
        "{count} positions in {width} dimensions; marked are position {position} and pair {pair}",
        "위치 {count}개, 차원 {width}개. 위치 {position}과(와) 쌍 {pair}이(가) 표시됨",
    ),
    "waves": ("The waves of pair {pair}", "쌍 {pair}의 파동"),
    "similarity": ("PE(p) · PE(p + k)", "PE(p) · PE(p + k)"),
    "from": ("from p = {position}", "p = {position}에서"),
    "likeness": (
        "from position {position}: {length} at distance 0, {near} one step away",
        "위치 {position}에서: 거리 0에서 {length}, 한 걸음 떨어지면 {near}",
    ),
    "verb": (
        "What self-attention makes of 본다 (“sees”) in the sentence and in its shuffle",
        "원래 문장과 섞은 문장에서 셀프 어텐션이 만든 “본다”의 벡터",
    ),
    "apart": ("Distance of the two vectors: {distance}", "두 벡터의 거리: {distance}"),
    "sentence": (
        "Position {position}: the hand of pair {pair} has sine {sine} and cosine {cosine}; a whole turn takes "
        "{turn} positions. PE(p) · PE(p + k) is {length} for k = 0 and {near} for k = {step}; at every distance it "
        "is what it is from position 0 (largest difference {off}).",
        "위치 {position}: 쌍 {pair}의 바늘은 사인 {sine}, 코사인 {cosine}이고, 한 바퀴 도는 데 위치 {turn}개가 "
        "걸립니다. PE(p) · PE(p + k)는 k = 0에서 {length}, k = {step}에서 {near}이며, 어느 거리에서나 위치 0에서 "
        "잰 값과 같습니다 (최대 차이 {off}).",
    ),
    "without": (
        "Words without positions: one self-attention (width 8, W drawn once) gives 본다 in “{text}” a vector that "
        "is {distance} away from its vector in the sentence.",
        "위치를 더하지 않은 단어: 셀프 어텐션 한 번(폭 8, 고정된 W)을 거친 “{text}”의 “본다” 벡터는 원래 문장의 "
        "벡터와 거리가 {distance}입니다.",
    ),
    "with": (
        "Words with positions added (base {base}): one self-attention (width 8, W drawn once) gives 본다 in "
        "“{text}” a vector that is {distance} away from its vector in the sentence.",
        "위치(밑수 {base})를 더한 단어: 셀프 어텐션 한 번(폭 8, 고정된 W)을 거친 “{text}”의 “본다” 벡터는 원래 "
        "문장의 벡터와 거리가 {distance}입니다.",
    ),
}
