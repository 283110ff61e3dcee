-- the side that is preserved
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE price > 5;
-- of a right outer join it is the other
SELECT name FROM Bid [NOW] RIGHT JOIN Person ON id = bidder_id WHERE state = 'OR';
-- a condition of the join itself: the side that is not preserved
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id AND state = 'OR' AND price > 5;
-- a value of a subquery
SELECT item_id FROM Bid [NOW] AS b WHERE price > (SELECT label FROM (SELECT item_id AS label, item_id FROM Category) AS c WHERE c.item_id = b.item_id) AND bidder_id = 1;
-- a condition on the other side would let rows pass that have no partner
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE state = 'OR';
-- both sides
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE price > id;
-- a full outer join preserves both
SELECT name FROM Bid [NOW] FULL JOIN Person ON id = bidder_id AND price > 3 WHERE price > 5;
-- an inner join
SELECT name FROM Bid [NOW] JOIN Person ON id = bidder_id WHERE price > 5;
