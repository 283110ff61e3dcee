-- a map of columns
SELECT q.b AS c, q.b + 1 AS d FROM (SELECT item_id AS a, price AS b FROM Bid [NOW]) AS q;
-- what is computed is used once
SELECT q.b + 1 AS c FROM (SELECT item_id AS a, price * 2 AS b FROM Bid [NOW]) AS q;
-- a constant may be used twice
SELECT q.b + q.b AS c FROM (SELECT 3 AS b FROM Bid [NOW]) AS q;
-- a value of another type than that of its parts keeps its type
SELECT q.b + 1 AS c FROM (SELECT CASE WHEN price > 1 THEN 1 ELSE 2.5 END AS b FROM Bid [NOW]) AS q;
-- what is computed would be computed twice
SELECT q.b + 1 AS c, q.b AS d FROM (SELECT item_id AS a, price * 2 AS b FROM Bid [NOW]) AS q;
-- NOW stays where it is
SELECT q.b + 1 AS c FROM (SELECT NOW - ts AS b FROM Bid [NOW]) AS q;
-- a filter stands between them
SELECT q.b AS c FROM (SELECT item_id AS a, price AS b FROM Bid [NOW]) AS q WHERE q.a = 1;
