-- columns
SELECT q.b FROM (SELECT item_id AS a, price AS b FROM Bid [NOW]) AS q WHERE q.a = 1 AND q.b > 5;
-- something cheap
SELECT q.b FROM (SELECT item_id AS a, price * 2 AS b FROM Bid [NOW]) AS q WHERE q.b > 5;
-- only the part that fits
SELECT q.b FROM (SELECT item_id AS a, NOW - ts AS b FROM Bid [RANGE 9]) AS q WHERE q.b > 5 AND q.a = 1;
-- only the part that uses once what is computed
SELECT q.b FROM (SELECT item_id AS a, price * 2 AS b FROM Bid [NOW]) AS q WHERE q.b > 5 AND q.b < q.b + q.a;
-- too dear
SELECT q.b FROM (SELECT UPPER(TRIM(REPLACE(REPLACE(name, 'a', 'b'), 'c', 'd'))) AS b FROM Person) AS q WHERE q.b = 'X';
-- NOW in the map
SELECT q.b FROM (SELECT item_id AS a, NOW - ts AS b FROM Bid [RANGE 9]) AS q WHERE q.b > 5;
-- no map
SELECT item_id FROM Bid [NOW] WHERE price > 5;
