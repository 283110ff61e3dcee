-- a difference of bags
SELECT q.a FROM (SELECT item_id AS a FROM Open EXCEPT ALL SELECT item_id FROM Close) AS q WHERE q.a > 1;
-- of sets
SELECT q.a FROM (SELECT item_id AS a FROM Open EXCEPT SELECT item_id FROM Close) AS q WHERE q.a > 1;
-- an intersection; columns go by their places
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid INTERSECT ALL SELECT start_price, item_id FROM Open) AS q WHERE q.a > 1 AND q.b = 2;
-- an operation that SQL does not have
SELECT q.a FROM (SELECT item_id AS a FROM Open WHERE start_price > 1 INTERSECT SELECT item_id FROM Close) AS q WHERE q.a > 1;
-- the condition can fail for a row that is taken away
SELECT q.a FROM (SELECT item_id AS a FROM Open EXCEPT ALL SELECT item_id FROM Close) AS q WHERE q.a + 1 > 1;
-- its text is not a function of a number's value
SELECT q.a FROM (SELECT CAST(item_id AS DOUBLE) AS a FROM Open EXCEPT SELECT CAST(item_id AS DOUBLE) FROM Close) AS q WHERE CAST(q.a AS STRING) = '0.0';
-- a union
SELECT q.a FROM (SELECT item_id AS a FROM Open UNION ALL SELECT item_id FROM Close) AS q WHERE q.a > 1;
