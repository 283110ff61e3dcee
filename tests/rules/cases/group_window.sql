-- the group of a window
SELECT item_id, price FROM Bid [RANGE 60] WHERE bidder_id = 2;
-- a function of several columns
SELECT item_id FROM Bid [FIXED 60] WHERE (item_id + bidder_id) % 4 = 3;
-- a window that counts elements
SELECT item_id FROM Bid [ROWS 10] WHERE bidder_id = 2;
-- the instant is asked for
SELECT item_id FROM Bid [RANGE 60] WHERE price + NOW = 2;
-- elements before the landmark would be asked too, and the sum can be too large
SELECT item_id FROM Bid [LANDMARK 60] WHERE price + 1 = 2;
