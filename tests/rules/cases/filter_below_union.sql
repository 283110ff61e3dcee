-- rule (10)
SELECT q.a FROM (SELECT item_id AS a FROM Open UNION ALL SELECT item_id FROM Close) AS q WHERE q.a > 1;
-- columns go by their places; the condition may fail, since it is asked of all rows
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid UNION ALL SELECT start_price, item_id FROM Open) AS q WHERE q.a + q.b > 1;
-- sides of different types have been widened before
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid UNION ALL SELECT start_price, 1.5 FROM Open) AS q WHERE q.a > 1 AND q.b > 2;
-- duplicates are eliminated above
SELECT q.a FROM (SELECT item_id AS a FROM Open UNION SELECT item_id FROM Close) AS q WHERE q.a > 1;
-- NOW
SELECT q.a FROM (SELECT ts AS a FROM Open UNION ALL SELECT ts FROM Close) AS q WHERE q.a < NOW - 5;
-- a difference
SELECT q.a FROM (SELECT item_id AS a FROM Open EXCEPT ALL SELECT item_id FROM Close) AS q WHERE q.a > 1;
