"""What `bottleneck` says: {key: (English, Korean)}."""

PHRASES = {
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
}
