from main import SLOW

if SLOW:
    from main import scale
else:
    scale = 2.0
FAST = not SLOW
