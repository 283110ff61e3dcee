-- what enters the unbounded window of a derived stream
SELECT ISTREAM(*) FROM (DSTREAM(SELECT item_id FROM Bid [RANGE 60])) AS d [RANGE UNBOUNDED];
-- what is in its now-window, filtered and renamed
SELECT RSTREAM(item_id AS item) FROM (ISTREAM(SELECT item_id FROM Bid [RANGE 60])) AS i [NOW] WHERE item_id > 5;
-- an Rstream that tells what is there now and then
SELECT RSTREAM(*) FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 60 SLIDE 10])) AS r [NOW];
-- a column is dropped: rows that differ become equal
SELECT ISTREAM(item_id) FROM (DSTREAM(SELECT item_id, price FROM Bid [RANGE 60])) AS d [RANGE UNBOUNDED];
-- the window forgets
SELECT ISTREAM(*) FROM (DSTREAM(SELECT item_id FROM Bid [RANGE 60])) AS d [RANGE 5];
-- an Rstream whose elements last
SELECT ISTREAM(*) FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 60])) AS r [RANGE UNBOUNDED];
-- a base stream is no Istream
SELECT ISTREAM(*) FROM Bid [RANGE UNBOUNDED];
-- the elements are to be intervals
COALESCE STREAM (DSTREAM(SELECT item_id FROM Bid [RANGE 60])) UP TO 10;
