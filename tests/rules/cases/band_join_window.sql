-- tuples at most five apart
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE b.TS - 5 <= a.TS AND a.TS <= b.TS + 5;
-- another condition, and no time between
SELECT a.price, b.TS FROM RELATION(Bid) a JOIN RELATION(Open) b ON a.item_id = b.item_id AND a.TS = b.TS WHERE a.price > 9;
-- the one is always the later
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.TS - b.TS > 2 AND a.TS - b.TS < 9;
-- nothing says how much later the second may come
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.TS - b.TS <= 5;
-- pairs leave with time
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.TS = b.TS AND NOW < a.price;
-- a condition that can fail would not be asked of pairs that are too far apart
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.TS = b.TS AND CAST(CAST(b.start_price AS STRING) AS INT) = a.price;
-- an outer join has rows without a partner
SELECT a.price FROM RELATION(Bid) a LEFT JOIN RELATION(Open) b ON a.TS = b.TS;
-- how far apart they may be depends on the row
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.TS - b.TS BETWEEN 0 AND a.price;
