-- a comparison before a pattern
SELECT name FROM Person [RANGE 60] WHERE name LIKE '%a%' AND state = 'OR';
-- the rarer value first
-- statistics: Bid.item_id = 500, Bid.bidder_id = 2
SELECT price FROM Bid [RANGE 60] WHERE bidder_id = 1 AND item_id = 7;
-- what can fail is asked last, behind all that guards it
SELECT price FROM Bid [RANGE 60] WHERE price > 5 AND CAST(price AS SMALLINT) > 7 AND item_id = 7;
-- they are in order already
SELECT price FROM Bid [RANGE 60] WHERE item_id = 7 AND price > 5;
-- what can fail is not asked before what guards it
SELECT price FROM Bid [RANGE 60] WHERE price BETWEEN 0 AND 9 AND CAST(price AS TINYINT) = 7;
