-- the example of footnote 4: a now-window of a stream with a key
SELECT ISTREAM(*) FROM Open [NOW] WHERE start_price > 100;
-- the key is in the join
SELECT ISTREAM(Close.item_id, Open.start_price) FROM Close [NOW], Open [RANGE 300] WHERE Close.item_id = Open.item_id;
-- the key is what is grouped by
SELECT ISTREAM(item_id, COUNT(*) AS n) FROM Open [NOW] GROUP BY item_id;
-- what enters a set that only grows has a key
SELECT ISTREAM(d.item_id) FROM (ISTREAM(SELECT DISTINCT item_id FROM Bid)) AS d [NOW];
-- the key is dropped: equal rows can follow each other
SELECT ISTREAM(start_price) FROM Open [NOW];
-- the stream has no key
SELECT ISTREAM(item_id, price) FROM Bid [NOW];
-- rows stay
SELECT ISTREAM(item_id) FROM Open [RANGE 10];
-- rows without partner stay
SELECT ISTREAM(o.item_id, c.item_id AS closed) FROM Open [NOW] o FULL JOIN Close [RANGE 10] c ON o.item_id = c.item_id;
-- a row of one part can follow one of the other
ISTREAM(SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW]);
