-- what has entered a set that only grows
SELECT COUNT(*) FROM (ISTREAM(SELECT DISTINCT item_id FROM Bid)) AS i;
-- a join of two streams
SELECT i.item_id FROM (ISTREAM(SELECT o.item_id FROM Open o, Close c WHERE o.item_id = c.item_id)) AS i [ROWS UNBOUNDED];
-- rows leave the relation, but not the window
SELECT i.item_id FROM (ISTREAM(SELECT item_id FROM Bid [RANGE 60])) AS i;
-- counts change
SELECT i.n FROM (ISTREAM(SELECT item_id, COUNT(*) AS n FROM Bid GROUP BY item_id)) AS i;
-- the window forgets
SELECT i.item_id FROM (ISTREAM(SELECT DISTINCT item_id FROM Bid)) AS i [RANGE 60];
-- the window is late
SELECT i.item_id FROM (ISTREAM(SELECT DISTINCT item_id FROM Bid)) AS i [RANGE UNBOUNDED SLIDE 10];
