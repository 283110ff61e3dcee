-- Query 6.1 of CQL
SELECT ISTREAM(*) FROM Open [RANGE UNBOUNDED] WHERE start_price > 100;
-- a map
SELECT ISTREAM(item_id, price * 2 AS twice) FROM Bid;
-- a union of two streams
ISTREAM(SELECT item_id FROM Open UNION ALL SELECT item_id FROM Close);
-- a join with a stored relation
SELECT ISTREAM(b.item_id, c.label) FROM Bid b JOIN Category c ON b.item_id = c.item_id;
-- the same, and rows without partner
SELECT ISTREAM(b.item_id, c.label) FROM Bid b LEFT JOIN Category c ON b.item_id = c.item_id;
-- a condition on a stored relation
SELECT ISTREAM(item_id) FROM Bid WHERE item_id NOT IN (SELECT item_id FROM Category WHERE label <> 'art');
-- elements leave the window
SELECT ISTREAM(item_id) FROM Bid [RANGE 10] WHERE price > 100;
-- the window slides: elements enter it late
SELECT ISTREAM(item_id) FROM Bid [RANGE UNBOUNDED SLIDE 10];
-- one part of the union forgets
ISTREAM(SELECT item_id FROM Open UNION ALL SELECT item_id FROM Close [RANGE 10]);
-- a union of sets
ISTREAM(SELECT item_id FROM Open UNION SELECT item_id FROM Close);
-- a row of the other side can come later
SELECT ISTREAM(Open.item_id) FROM Open, Close WHERE Open.item_id = Close.item_id;
-- rows of the stored relation are there from the start
SELECT ISTREAM(b.item_id, c.label) FROM Bid b RIGHT JOIN Category c ON b.item_id = c.item_id;
-- the instant is asked for
SELECT ISTREAM(item_id) FROM Bid WHERE price < NOW;
-- what leaves is another thing
SELECT DSTREAM(item_id) FROM Bid;
