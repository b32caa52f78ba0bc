from main import SIZE

HALF = SIZE // 2
