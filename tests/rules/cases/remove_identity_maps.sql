-- what is left of a mark
SELECT COUNT(*) FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS TRUE;
-- the ordering column of a stream is hidden: the map makes it visible
SELECT COUNT(*) FROM Bid [NOW] WHERE (item_id IN (SELECT item_id FROM Close)) IS TRUE;
-- new names
SELECT item_id, label FROM Category;
-- another order
SELECT q.b, q.a FROM (SELECT item_id AS a, label AS b FROM Category) AS q;
