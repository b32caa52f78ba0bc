from main import C

B = C + 1
