-- back above the window, where others can share it
SELECT item_id FROM Bid [RANGE 60] WHERE price > 5;
-- a positional window: the filter has never been below it
SELECT item_id FROM Bid [ROWS 60] WHERE price > 5;
