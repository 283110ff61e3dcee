-- what does not ask for NOW can be moved on
SELECT item_id FROM Bid [RANGE 60] WHERE ts < NOW - 5 AND price > 5;
-- several of both
SELECT item_id FROM Bid [RANGE 60] WHERE ts < NOW - 5 AND price > 5 AND item_id = 7 AND ts <> NOW;
-- all of it asks for NOW
SELECT item_id FROM Bid [RANGE 60] WHERE ts < NOW - 5;
-- a disjunction is one part
SELECT item_id FROM Bid [RANGE 60] WHERE ts < NOW - 5 OR price > 5;
-- nothing of it does
SELECT item_id FROM Bid [RANGE 60] WHERE price > 5 AND item_id = 7;
