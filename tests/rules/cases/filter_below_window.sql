-- Query 6.2 of CQL
SELECT COUNT(*) FROM Bid [RANGE 3600] WHERE item_id >= 100 AND item_id <= 200;
-- a slide
SELECT item_id FROM Bid [RANGE 60 SLIDE 10] WHERE price > 5;
-- example 6 of Astral: the last rows of those that pass are not those that pass of the last rows
SELECT item_id FROM Bid [ROWS 10] WHERE price > 5;
-- also with partitions
SELECT item_id FROM Bid [PARTITION BY item_id ROWS 10] WHERE price > 5;
-- the unbounded window does not count, even if it is written with rows (property 3 of Astral)
SELECT item_id FROM Bid [ROWS UNBOUNDED] WHERE price > 5;
-- a window sequence over time
SELECT item_id FROM Bid [FROM 10*j TO 10*j + 5 EVERY 10] WHERE price > 5;
-- a slide by rows counts those that do not pass
SELECT item_id FROM Bid [RANGE 60 SLIDE 10 ROWS] WHERE price > 5;
-- the instant is asked for
SELECT item_id FROM Bid [RANGE 60] WHERE price > NOW;
-- elements before the landmark would be tested too, and the sum can be too large
SELECT item_id FROM Bid [LANDMARK 60] WHERE price + 1 > 5;
