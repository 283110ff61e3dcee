-- sums, products and comparisons
SELECT item_id FROM Bid [NOW] WHERE price > 2 * (3 + 4) AND 1 + 1 = 2;
-- three-valued logic
SELECT item_id FROM Bid [NOW] WHERE (NULL AND FALSE) OR price > 5;
-- NULL is neither TRUE nor FALSE
SELECT item_id FROM Bid [NOW] WHERE NOT (1 = NULL);
-- branches that are never taken
SELECT CASE WHEN 1 > 2 THEN price WHEN price > 5 THEN 1 ELSE 2 END AS c FROM Bid [NOW];
-- a branch that always is, of another type than the whole
SELECT CASE WHEN 1 < 2 THEN price ELSE 2.5 END AS c FROM Bid [NOW];
-- membership
SELECT item_id FROM Bid [NOW] WHERE 3 IN (1, 2, 3) AND 4 IN (1, NULL);
-- casts that fit
SELECT item_id FROM Bid [NOW] WHERE price > CAST('12' AS INT) AND price < CAST(3 AS DOUBLE);
-- in the condition of a join and in an aggregate
SELECT COUNT(*) FILTER (WHERE 1 = 1 AND price > 5) FROM Bid [NOW] JOIN Person ON id = bidder_id AND NOT FALSE;
-- the sum leaves its type
SELECT item_id FROM Bid [NOW] WHERE price < 2147483647 + 1;
-- division
SELECT item_id FROM Bid [NOW] WHERE price > 7 / 2 OR price > 1 / 0;
-- floating-point numbers
SELECT item_id FROM Bid [NOW] WHERE price > 0.1e0 + 0.2e0;
-- a cast that does not fit is an error when a row comes
SELECT item_id FROM Bid [NOW] WHERE price > CAST('x' AS INT);
-- NOW
SELECT item_id FROM Bid [RANGE 9] WHERE ts < NOW - (2 + 3);
