-- a window over the union of two streams
SELECT COUNT(*) FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW])) AS u [RANGE 60];
-- with a slide, filters and maps
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] WHERE start_price > 9 UNION ALL SELECT item_id * 2 FROM Bid [NOW])) AS u [RANGE 60 SLIDE 60];
-- three streams
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW] UNION ALL SELECT item_id FROM Bid [NOW])) AS u [FIXED 60];
-- the last rows of two streams are not the last rows of each
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW])) AS u [ROWS 10];
-- a slide by rows counts those of both streams
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW])) AS u [RANGE 60 SLIDE 10 ROWS];
-- a union of sets
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION SELECT item_id FROM Close [NOW])) AS u [RANGE 60];
-- no stream is just united
SELECT item_id FROM (RSTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [RANGE 1])) AS u [RANGE 60];
-- an element before the landmark could make a difference: the map can fail
SELECT item_id FROM (RSTREAM(SELECT item_id * 2 AS item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW])) AS u [LANDMARK 60];
