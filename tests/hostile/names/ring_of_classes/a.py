from main import A


class B(A):
    C = A.C + 1
