-- a slide over a window is one of the window
SELECT item_id FROM Bid [RANGE 4 SLIDE 10];
-- a slide over a slide, and over the window
SELECT item_id FROM Bid [RANGE 5 SLIDE 10];
-- the slower one is below
SELECT item_id FROM Bid [RANGE 7 SLIDE 10];
-- a window by rows
SELECT item_id FROM Bid [ROWS 3 RANGE 4 SLIDE 10];
-- two slides that share few points
SELECT item_id FROM Bid [RANGE 8 SLIDE 10];
-- the points are not those at which the window could move
SELECT item_id FROM Bid [RANGE 6 SLIDE 10];
-- no slide over anything
SELECT item_id FROM Bid [RANGE 60];
