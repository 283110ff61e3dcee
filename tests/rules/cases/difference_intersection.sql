-- a bag without itself
SELECT price FROM Bid [NOW] EXCEPT ALL SELECT price FROM Bid [NOW];
-- a bag with itself
SELECT price FROM Bid [NOW] INTERSECT ALL SELECT price FROM Bid [NOW];
-- a set with itself
SELECT price FROM Bid [NOW] INTERSECT SELECT price FROM Bid [NOW];
-- two differences of bags
(SELECT price FROM Bid [NOW] EXCEPT ALL SELECT start_price FROM Open) EXCEPT ALL SELECT item_id FROM Close;
-- two differences of sets
(SELECT price FROM Bid [NOW] EXCEPT SELECT start_price FROM Open) EXCEPT SELECT item_id FROM Close;
-- what was added is taken back
(SELECT price FROM Bid [NOW] UNION ALL SELECT start_price FROM Open) EXCEPT ALL SELECT start_price FROM Open;
-- the other one
(SELECT price FROM Bid [NOW] UNION ALL SELECT start_price FROM Open) EXCEPT ALL SELECT price FROM Bid [NOW];
-- conditions on both sides
SELECT price FROM Bid [NOW] WHERE price > 5 INTERSECT SELECT price FROM Bid [NOW] WHERE price < 9;
-- what is not taken away: where the condition is false or unknown
SELECT price FROM Bid [NOW] EXCEPT ALL SELECT price FROM Bid [NOW] WHERE price < 9;
-- conditions on columns that are not there: other copies may be meant
SELECT price FROM Bid [NOW] EXCEPT ALL SELECT price FROM Bid [NOW] WHERE item_id < 9;
-- bags, then sets
(SELECT price FROM Bid [NOW] EXCEPT ALL SELECT start_price FROM Open) EXCEPT SELECT item_id FROM Close;
-- what was there before
(SELECT price FROM Bid [NOW] UNION ALL SELECT start_price FROM Open) EXCEPT SELECT start_price FROM Open;
-- another window
SELECT price FROM Bid [NOW] EXCEPT ALL SELECT price FROM Bid [RANGE 2];
-- another type
SELECT price FROM Bid [NOW] INTERSECT SELECT CAST(price AS DOUBLE) FROM Bid [NOW];
-- what is computed beside the conditions can fail on rows that they keep out
SELECT id, CAST(name AS INT) AS n FROM Person WHERE id > 1 INTERSECT SELECT id, CAST(name AS INT) FROM Person WHERE id < 9;
