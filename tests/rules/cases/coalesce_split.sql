-- below and above a window
SELECT item_id FROM Bid [RANGE 60] WHERE price > 5;
-- below a derived stream
SELECT COUNT(*) FROM (ISTREAM(SELECT item_id FROM Bid [RANGE 60])) AS d [RANGE 5];
-- nothing is cut
SELECT item_id FROM Category;
