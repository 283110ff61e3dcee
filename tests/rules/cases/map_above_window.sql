-- back above the window, where others can share it
SELECT item_id, price FROM Bid [RANGE 60];
-- the partition under its own name again
SELECT item_id AS item, price FROM Bid [PARTITION BY item_id ROWS 10];
-- the map has never been below the window
SELECT price FROM Bid [PARTITION BY item_id ROWS 10];
