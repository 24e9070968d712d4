-- Status moves of IPOs by month, and how many of them were pricings and withdrawals.
SELECT strftime(make_timestamp(updated * 1_000_000), '%Y-%m') AS month,
       count(*) AS moves,
       count(*) FILTER (status = 'Priced') AS priced,
       count(*) FILTER (status = 'Withdrawn') AS withdrawn,
       bar(count(*), 0, max(count(*)) OVER (), 40) AS chart
FROM 'moves.parquet' GROUP BY month ORDER BY month;
