-- nothing leaves an unbounded window
SELECT DSTREAM(item_id) FROM Bid WHERE price > 100;
-- nor a set of what was in it
DSTREAM(SELECT DISTINCT item_id FROM Bid);
-- a stream of its own
SELECT COUNT(*) FROM (DSTREAM(SELECT item_id FROM Bid)) AS d [RANGE 60];
-- elements leave the window
SELECT DSTREAM(item_id) FROM Bid [RANGE 60];
-- what is newer takes the place of what is older
DSTREAM(SELECT item_id, MAX(price) AS best FROM Bid GROUP BY item_id);
-- the map can fail
SELECT DSTREAM(item_id * 2 AS twice) FROM Bid;
-- what enters
SELECT ISTREAM(item_id) FROM Bid;
