-- a comparison is never true of NULL
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE state = 'OR';
-- nor is this
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE NOT (id > price) AND price > 1;
-- on the other side
SELECT name FROM Bid [NOW] RIGHT JOIN Person ON id = bidder_id WHERE price IS NOT NULL;
-- one half of a full outer join
SELECT name FROM Bid [NOW] FULL JOIN Person ON id = bidder_id WHERE price > 5;
-- both halves
SELECT name FROM Bid [NOW] FULL JOIN Person ON id = bidder_id WHERE price > 5 AND state IN ('OR', 'CA');
-- either is enough
SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE state = 'OR' OR name LIKE 'A%';
-- a row without partner passes
SELECT item_id FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE name IS NULL;
-- or may pass
SELECT item_id FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE state = 'OR' OR price > 5;
-- what is made of NULL is not known
SELECT item_id FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE COALESCE(state, 'OR') = 'OR';
-- equal, NULLs included
SELECT item_id FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE state <=> NULL;
-- the preserved side
SELECT item_id FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE price > 5;
