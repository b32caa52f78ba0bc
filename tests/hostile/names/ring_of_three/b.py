from main import X

B = X
