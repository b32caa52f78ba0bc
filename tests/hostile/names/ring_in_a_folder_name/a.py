from .main import x, y

x = x + y
