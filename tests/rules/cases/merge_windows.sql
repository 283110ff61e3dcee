-- late twice
SELECT COUNT(*) FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 5])) AS d [RANGE 60 LAG 1];
-- late by two slides
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 20] WHERE price > 5)) AS d [RANGE 60 SLIDE 10];
-- late by less than a slide: other elements would be in the window
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 5])) AS d [RANGE 60 SLIDE 10];
-- a window that counts elements
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 5])) AS d [ROWS 10];
-- the window below is longer
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [RANGE 1 LAG 5])) AS d [RANGE 60];
-- what enters a window is not what is in it
SELECT item_id FROM (ISTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 5])) AS d [RANGE 60];
