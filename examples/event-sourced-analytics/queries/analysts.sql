-- The calls of each analyst, with the success rate that the analyst had when making them: not today's, which nobody knew then.
SELECT name, firm, count(*) AS calls,
       sum(action LIKE 'Upgrade%') AS upgrades, sum(action LIKE 'Downgrade%') AS downgrades,
       round(avg(success_rate), 1) AS success_rate
FROM calls JOIN analyst_versions AS known
  ON known.analyst = calls.analyst AND calls.updated >= known.since AND calls.updated < known.until
WHERE success_rate IS NOT NULL
GROUP BY calls.analyst HAVING count(*) >= 3 ORDER BY calls DESC;
