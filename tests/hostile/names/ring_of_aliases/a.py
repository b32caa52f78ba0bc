from main import x as y, y as x
