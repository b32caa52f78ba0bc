from b import B

A = B
