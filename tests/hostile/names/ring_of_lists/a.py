from main import rows

rows = [rows]
rows.extend(rows)
