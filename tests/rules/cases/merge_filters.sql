-- of a derived table and of the query around it
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] WHERE price > 5) AS q WHERE q.a = 7;
-- a condition that stands there already
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] WHERE price > 5) AS q WHERE q.b > 5;
-- three of them
SELECT r.c FROM (SELECT q.a AS c FROM (SELECT item_id AS a FROM Bid [NOW] WHERE price > 5) AS q WHERE q.a > 1) AS r WHERE r.c < 9;
-- a sum can overflow, and the inner filter may keep the row out that it overflows for
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid [RANGE 60] WHERE price > 5) AS q WHERE q.a + q.b = 7;
-- the inner one asks for NOW
SELECT q.a FROM (SELECT item_id AS a FROM Bid [RANGE 60] WHERE ts < NOW - 5) AS q WHERE q.a = 7;
-- the outer one does
SELECT q.a FROM (SELECT item_id AS a, ts AS b FROM Bid [RANGE 60] WHERE price > 5) AS q WHERE q.b < NOW - 5;
-- only one filter
SELECT item_id FROM Bid [RANGE 60] WHERE price > 5 AND item_id = 7;
