import main

y = 0
while y <= main.x:
    y = y + 1
