-- nothing is asked
SELECT item_id FROM Bid [NOW] WHERE TRUE;
-- a part is TRUE
SELECT item_id FROM Bid [NOW] WHERE price > 5 AND TRUE;
-- a part stands there twice
SELECT item_id FROM Bid [NOW] WHERE price > 5 AND item_id = 1 AND price > 5;
-- a product
SELECT name FROM Bid [NOW] JOIN Person ON TRUE;
-- FALSE is another matter
SELECT item_id FROM Bid [NOW] WHERE price > 5 AND FALSE;
-- a disjunction
SELECT item_id FROM Bid [NOW] WHERE price > 5 OR price > 5;
