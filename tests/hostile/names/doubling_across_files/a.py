from b import v0

v1 = v0 + v0; v2 = v1 + v1; v3 = v2 + v2; v4 = v3 + v3; v5 = v4 + v4; v6 = v5 + v5; v7 = v6 + v6; v8 = v7 + v7; v9 = v8 + v8; v10 = v9 + v9; v11 = v10 + v10; v12 = v11 + v11; v13 = v12 + v12; v14 = v13 + v13; v15 = v14 + v14; v16 = v15 + v15; v17 = v16 + v16; v18 = v17 + v17; v19 = v18 + v18; v20 = v19 + v19
