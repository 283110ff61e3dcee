-- a condition on the partition
SELECT q.b FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] ORDER BY price LIMIT 2) AS q WHERE q.a = 7;
-- one on the partition, one on other columns
SELECT q.b FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] ORDER BY price LIMIT 2) AS q WHERE q.a = 7 AND q.b > 5;
-- the first rows that pass are not those of the first rows that pass
SELECT q.b FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] ORDER BY price LIMIT 2) AS q WHERE q.b > 5;
-- a condition that can fail
SELECT q.b FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] ORDER BY price LIMIT 2) AS q WHERE q.a + 1 = 7;
