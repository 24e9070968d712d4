-- Upgrades and downgrades by firm. A correction of an earlier call is no call of its own.
SELECT firm,
       count(*) FILTER (action LIKE 'Upgrade%') AS upgrades,
       count(*) FILTER (action LIKE 'Downgrade%') AS downgrades,
       bar(upgrades, 0, 60, 20) AS up,
       bar(downgrades, 0, 60, 20) AS down
FROM 'calls.parquet' WHERE NOT correction
GROUP BY firm HAVING upgrades + downgrades > 0
ORDER BY upgrades + downgrades DESC, firm LIMIT 12;
