-- example 5
SELECT r.price FROM RELATION(Bid) r WHERE NOW - 5 < r.TS AND r.TS <= NOW;
-- a comparison the other way round, and another condition
SELECT r.price FROM RELATION(Bid) r WHERE r.TS + 5 > NOW AND r.price > 9;
-- how long ago it came, at the least too
SELECT r.price FROM RELATION(Bid) r WHERE NOW - r.TS BETWEEN 2 AND 20;
-- a window on each of two views
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.item_id = b.item_id AND NOW - 5 < a.TS AND NOW - 3 < b.TS;
-- a window on one of two views
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE a.item_id = b.item_id AND NOW - 5 < a.TS;
-- nothing makes the rows leave
SELECT r.price FROM RELATION(Bid) r WHERE r.TS + 5 <= NOW;
-- how long they stay depends on the row
SELECT r.price FROM RELATION(Bid) r WHERE NOW - r.TS < r.price;
-- a sum with something else than lengths of time
SELECT r.price FROM RELATION(Bid) r WHERE r.TS * 2 >= NOW;
-- no row is ever so old and so young
SELECT r.price FROM RELATION(Bid) r WHERE NOW - r.TS > 5 AND NOW - r.TS < 3;
-- a stored relation
SELECT g.label FROM Category g WHERE NOW - 5 < g.item_id;
-- a condition that can fail would not be asked of rows that left
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b WHERE NOW - 5 < a.TS AND CAST(CAST(b.start_price AS STRING) AS INT) = a.price;
-- the other side of an outer join is not joined by this condition alone
SELECT a.price FROM RELATION(Bid) a LEFT JOIN RELATION(Open) b ON NOW - 5 < b.TS;
