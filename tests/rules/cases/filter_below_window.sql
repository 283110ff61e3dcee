-- Query 6.2 of CQL
SELECT COUNT(*) FROM Bid [RANGE 3600] WHERE item_id >= 100 AND item_id <= 200;
-- a slide
SELECT item_id FROM Bid [RANGE 60 SLIDE 10] WHERE price > 5;
-- example 6 of Astral: the last rows of those that pass are not those that pass of the last rows
SELECT item_id FROM Bid [ROWS 10] WHERE price > 5;
-- also with partitions
SELECT item_id FROM Bid [PARTITION BY item_id ROWS 10] WHERE price > 5;
