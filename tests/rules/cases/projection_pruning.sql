-- below a join, and below the windows under it
SELECT name FROM Bid [RANGE 60] JOIN Person ON id = bidder_id;
-- below a grouping
SELECT item_id, MAX(price) FROM Bid [RANGE 60] GROUP BY item_id;
-- a column that a filter needs, and nothing above it
SELECT name FROM Bid [ROWS 60] JOIN Person ON id = bidder_id WHERE price > 5;
-- the columns of a partition
SELECT price FROM Bid [PARTITION BY item_id ROWS 2] AS b;
-- what a derived table computes in vain
SELECT q.a FROM (SELECT item_id AS a, COUNT(*) AS n, MAX(price) AS m FROM Bid [NOW] GROUP BY item_id) AS q;
-- a union of bags
SELECT q.a FROM (SELECT item_id AS a, price AS b FROM Bid [NOW] UNION ALL SELECT item_id, start_price FROM Open) AS q;
-- only the columns that are compared
SELECT item_id FROM Bid [RANGE 60] WHERE bidder_id NOT IN (SELECT id FROM Person WHERE state = 'OR');
-- how many, whatever they are
SELECT COUNT(*) FROM Bid [ROWS 60];
-- a derived stream: the order of its elements goes by all columns
SELECT q.a FROM (ISTREAM(SELECT item_id AS a, price AS b, bidder_id AS c FROM Bid [RANGE 60])) [ROWS 2] AS q;
-- rows that differ in the column are different
SELECT q.a FROM (SELECT DISTINCT item_id AS a, label AS b FROM Category) AS q;
-- so they are here
SELECT q.a FROM (SELECT item_id AS a, label AS b FROM Category EXCEPT ALL SELECT id, name FROM Person [NOW]) AS q WHERE q.b = 'x';
-- ties go by all columns
SELECT q.a FROM (SELECT item_id AS a, label AS b FROM Category ORDER BY item_id LIMIT 2) AS q;
-- a map above a stored relation is one already
SELECT label FROM Category WHERE item_id > 1;
