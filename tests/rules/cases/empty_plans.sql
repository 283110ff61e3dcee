-- no row passes
SELECT item_id FROM Bid [NOW] WHERE price > 5 AND FALSE;
-- nor with NULL
SELECT item_id FROM Bid [NOW] WHERE NULL;
-- one side of a join
SELECT name FROM (SELECT item_id, bidder_id FROM Bid [NOW] WHERE FALSE) AS b JOIN Person ON id = b.bidder_id;
-- the other side of an outer join: NULLs
SELECT name, b.item_id FROM Person LEFT JOIN (SELECT item_id, bidder_id FROM Bid [NOW] WHERE FALSE) AS b ON id = b.bidder_id;
-- both sides of a full outer join
SELECT name, b.item_id FROM Person FULL JOIN (SELECT item_id, bidder_id FROM Bid [NOW] WHERE FALSE) AS b ON id = b.bidder_id;
-- nothing to be in
SELECT name FROM Person WHERE id NOT IN (SELECT bidder_id FROM Bid [NOW] WHERE FALSE);
-- a mark of nothing is FALSE
SELECT name, id IN (SELECT bidder_id FROM Bid [NOW] WHERE FALSE) AS m FROM Person;
-- a union
SELECT item_id FROM Bid [NOW] WHERE FALSE UNION ALL SELECT item_id FROM Close;
-- what is taken away
SELECT item_id FROM Close EXCEPT SELECT item_id FROM Bid [NOW] WHERE FALSE;
-- no groups
SELECT item_id, COUNT(*) FROM Bid [NOW] WHERE FALSE GROUP BY item_id;
-- one row for no rows
SELECT COUNT(*), MAX(price) FROM Bid [NOW] WHERE FALSE;
-- a limit
SELECT item_id FROM Bid [NOW] ORDER BY price LIMIT 0;
-- what an aggregate makes of nothing is not known here
SELECT COLLECT_LIST(price) AS l FROM (SELECT price FROM Bid [NOW] LIMIT 3) AS q;
-- a condition that may hold
SELECT item_id FROM Bid [NOW] WHERE price > 5 OR FALSE;
