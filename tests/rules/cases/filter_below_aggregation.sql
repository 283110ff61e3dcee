-- a key
SELECT item_id, COUNT(*) FROM Bid [RANGE 60] GROUP BY item_id HAVING item_id = 7;
-- one condition on keys, one on groups
SELECT item_id, COUNT(*) FROM Bid [RANGE 60] GROUP BY item_id, bidder_id HAVING item_id <> bidder_id AND MAX(price) > 5;
-- a key that is computed
SELECT COALESCE(item_id, 0) AS k, COUNT(*) FROM Bid [RANGE 60] GROUP BY k HAVING k = 7;
-- a derived table
SELECT q.n FROM (SELECT item_id AS k, COUNT(*) AS n FROM Bid [RANGE 60] GROUP BY item_id) AS q WHERE q.n > 5;
-- an aggregate
SELECT item_id, COUNT(*) FROM Bid [RANGE 60] GROUP BY item_id HAVING COUNT(*) > 5;
-- a scalar aggregation has a row for no rows
SELECT COUNT(*) AS n FROM Bid [RANGE 60] HAVING 1 > 2;
-- a key whose value can overflow
SELECT item_id + 1 AS k, COUNT(*) FROM Bid [RANGE 60] GROUP BY k HAVING k = 7;
