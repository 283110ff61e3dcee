-- the last rows of one item
SELECT price FROM Bid [PARTITION BY item_id ROWS 5] WHERE item_id = 7;
-- what is on other columns stays above
SELECT price FROM Bid [PARTITION BY item_id ROWS 5] WHERE item_id = 7 AND price > 100;
-- a session of each bidder
SELECT price FROM Bid [SESSION GAP 60 PARTITION BY bidder_id] WHERE bidder_id IN (1, 2);
-- a sequence of windows
SELECT price FROM Bid [PARTITION BY item_id FROM 2*j ROWS TO 2*j + 3 ROWS EVERY 2 ROWS] WHERE item_id < 5;
-- one column of two
SELECT price FROM Bid [PARTITION BY item_id, bidder_id ROWS 5] WHERE bidder_id = 7;
-- another column
SELECT item_id FROM Bid [PARTITION BY item_id ROWS 10] WHERE price > 5;
-- no partition
SELECT price FROM Bid [ROWS 5] WHERE item_id = 7;
-- the instant is asked for
SELECT price FROM Bid [PARTITION BY item_id ROWS 5] WHERE item_id > NOW;
-- the sum can be too large
SELECT price FROM Bid [PARTITION BY item_id ROWS 5] WHERE item_id + 1 > 5;
