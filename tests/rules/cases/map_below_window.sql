-- the window need not hold the other columns
SELECT item_id, price FROM Bid [RANGE 60];
-- nor does one that counts elements: a map changes no position
SELECT item_id, price FROM Bid [ROWS 10];
-- the partition is handed on under another name
SELECT item_id AS item, price FROM Bid [PARTITION BY item_id ROWS 10];
-- a column that is computed
SELECT item_id, price * 2 AS twice FROM Bid [RANGE 60];
-- the partition is dropped
SELECT price FROM Bid [PARTITION BY item_id ROWS 10];
-- no column is dropped
SELECT item_id, bidder_id, price, ts, price + 1 AS more FROM Bid [RANGE 60];
-- the instant is asked for
SELECT item_id, NOW AS t FROM Bid [RANGE 60];
-- elements before the landmark would be computed too, and the sum can be too large
SELECT item_id, price + 1 AS more FROM Bid [LANDMARK 60];
-- the elements of a derived stream that come together are in the order of their values
SELECT d.n FROM (DSTREAM(SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 60] GROUP BY item_id)) AS d [ROWS 10];
