-- the now-window of an Rstream
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 60])) AS r [NOW];
-- a window over the Rstream of a now-window
SELECT item_id, COUNT(*) AS n FROM (RSTREAM(SELECT item_id FROM Bid [NOW] WHERE price > 10)) AS r [RANGE 60] GROUP BY item_id;
-- Query 6.2 of CQL, with its filter in a stream of its own
SELECT COUNT(*) FROM (RSTREAM(SELECT item_id FROM Bid [NOW] WHERE item_id >= 100 AND item_id <= 200)) AS r [RANGE 3600];
-- the unbounded window does not count either
SELECT DISTINCT item_id FROM (RSTREAM(SELECT item_id FROM Bid [NOW])) AS r [ROWS UNBOUNDED];
-- an Rstream has its elements in another order
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [NOW])) AS r [ROWS 10];
-- an Rstream that tells what is there only now and then
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 60 SLIDE 10])) AS r [NOW];
-- the window below is longer: its elements are told many times
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 1])) AS r [RANGE 60];
-- the instant is asked for
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [NOW] WHERE price < NOW)) AS r [RANGE 60];
-- what enters a relation is not what is in it
SELECT item_id FROM (ISTREAM(SELECT item_id FROM Bid [RANGE 60])) AS r [NOW];
