"""Reads exports of highwater with DuckDB and pyarrow. usage: check_exports.py FOLDER QUERIES; prints JSON"""

import json
import pathlib
import sys

import duckdb
import pyarrow.parquet

folder, queries = map(pathlib.Path, sys.argv[1:])
db = duckdb.connect()


def rows(sql):
    result = db.execute(sql)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row)) for row in result.fetchall()]


def at(name):
    return f"'{folder / name}'"


# The table as of a moment is what DuckDB makes of the changes up to it.
fold = f"""
SELECT unnest(after) FROM (
  SELECT after, seq FROM {at("ipos.parquet")} WHERE seq <= (SELECT max(seq) FROM {at("until.parquet")})
  QUALIFY row_number() OVER (PARTITION BY key ORDER BY seq DESC) = 1
) WHERE after IS NOT NULL"""
then = f"SELECT * FROM {at('then.parquet')}"
found = {
    "then": db.execute(f"SELECT count(*) FROM {at('then.parquet')}").fetchone()[0],
    "differences": [
        db.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone()[0]
        for one, other in [(fold, then), (then, fold)]
    ],
    "types": {name: kind for name, kind, *_ in db.execute(f"DESCRIBE {then}").fetchall()},
    "events": {
        row["kind"]: row["n"]
        for row in rows(f"SELECT op AS kind, count(*) AS n FROM {at('ipos.parquet')} GROUP BY op")
    },
    "observed": str(db.execute(f"SELECT typeof(any_value(observed_at)) FROM {at('ipos.parquet')}").fetchone()[0]),
    "prices": str(db.execute(f"SELECT sum(pt) FROM {at('calls.parquet')}").fetchone()[0]),
    "csv": db.execute(f"SELECT count(*) FROM read_csv({at('ipos.csv')}, all_varchar = true)").fetchone()[0],
    "ndjson": db.execute(f"SELECT count(*) FROM read_json({at('ipos.ndjson')})").fetchone()[0],
    "pyarrow": {
        file.name: pyarrow.parquet.read_table(file).num_rows for file in sorted(folder.glob("*.parquet"))
    },
    "queries": {},
}
for query in sorted(queries.glob("*.sql")):
    # The market of this check is only minutes old.
    text = query.read_text().replace("TIMESTAMP '2025-07-01'", "(current_date + 1)::TIMESTAMP")
    for file in folder.glob("*.parquet"):
        text = text.replace(f"'{file.name}'", at(file.name))
    found["queries"][query.stem] = rows(text)
json.dump(found, sys.stdout, default=str)
