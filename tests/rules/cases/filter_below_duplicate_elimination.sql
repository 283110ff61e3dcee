-- the same rows are different
SELECT q.a FROM (SELECT DISTINCT item_id AS a FROM Bid [RANGE 60]) AS q WHERE q.a > 1;
-- a union of sets
SELECT q.a FROM (SELECT item_id AS a FROM Open UNION SELECT item_id FROM Close) AS q WHERE q.a > 1 AND q.a + 1 < 9;
-- the text of a number is not a function of its value
SELECT q.a FROM (SELECT DISTINCT CAST(price AS DOUBLE) AS a FROM Bid [RANGE 60]) AS q WHERE CAST(q.a AS STRING) = '0.0';
-- bags
SELECT q.a FROM (SELECT item_id AS a FROM Bid [RANGE 60]) AS q WHERE q.a > 1;
