-- two equal windows
SELECT item_id FROM Open [RANGE 60] UNION ALL SELECT item_id FROM Close [RANGE 60];
-- below other operators, with filters
SELECT item_id, COUNT(*) AS n FROM (SELECT item_id FROM Open [FIXED 60] WHERE start_price > 9 UNION ALL SELECT item_id FROM Close [FIXED 60]) AS u GROUP BY item_id;
-- different windows
SELECT item_id FROM Open [RANGE 60] UNION ALL SELECT item_id FROM Close [RANGE 30];
-- windows that count elements
SELECT item_id FROM Open [ROWS 10] UNION ALL SELECT item_id FROM Close [ROWS 10];
-- now-windows are the streams themselves
SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW];
-- below a union of sets
SELECT item_id FROM Open [RANGE 60] UNION SELECT item_id FROM Close [RANGE 60];
