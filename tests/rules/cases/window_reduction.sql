-- Query 6.1 of CQL
SELECT ISTREAM(*) FROM Open [RANGE UNBOUNDED] WHERE start_price > 100;
-- a map
SELECT ISTREAM(item_id, price * 2 AS twice) FROM Bid;
-- elements leave the window
SELECT ISTREAM(item_id) FROM Bid [RANGE 10] WHERE price > 100;
-- a row of the other side can come later
SELECT ISTREAM(Open.item_id) FROM Open, Close WHERE Open.item_id = Close.item_id;
-- what leaves is another thing
SELECT DSTREAM(item_id) FROM Bid;
