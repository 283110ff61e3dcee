-- to both sides, and into the join
SELECT name FROM Bid [NOW], Person WHERE id = bidder_id AND price > 5 AND state = 'OR';
-- conditions of the join itself
SELECT name FROM Bid [NOW] JOIN Person ON id = bidder_id AND price > 5 AND state = 'OR';
-- a semijoin: what is asked of its own rows
SELECT item_id FROM Bid [NOW] SEMI JOIN Person ON id = bidder_id AND price > 5 AND state = 'OR' WHERE item_id = 1;
-- an antijoin: a condition on its rows says which have a partner, not which there are
SELECT item_id FROM Bid [NOW] ANTI JOIN Person ON id = bidder_id AND price > 5 AND state = 'OR' WHERE item_id = 1;
-- a mark join: what is asked of its own rows stands below it already
SELECT item_id FROM Bid [NOW] WHERE price > 5 AND (bidder_id IN (SELECT id FROM Person) OR item_id = 1);
-- a product of three
SELECT name FROM Bid [NOW], Person, Category WHERE id = bidder_id AND Category.item_id = Bid.item_id AND label = 'x';
-- text that may be no number
SELECT name FROM Bid [NOW] JOIN Person ON id = bidder_id WHERE CAST(state AS INT) > 5;
-- a sum that may overflow
SELECT name FROM Bid [NOW] JOIN Person ON id = bidder_id WHERE price + item_id > 5;
-- an outer join
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE price > 5;
-- NOW
SELECT name FROM Bid [RANGE 9] JOIN Person ON id = bidder_id WHERE Bid.ts < NOW - 5;
