-- example 13
SELECT r.price FROM RELATION(Bid) r, (SELECT 1 AS k, MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 <= r.TS AND r.TS <= n.t;
-- example 14
SELECT r.price FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c WHERE c.Timepoint % 2 = 0) n WHERE n.t - 5 <= r.TS AND r.TS <= n.t;
-- an aggregate, and other conditions
SELECT r.item_id, COUNT(*) AS c FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < r.TS AND r.price > 3 GROUP BY r.item_id;
-- windows on two views
SELECT a.price FROM RELATION(Bid) a, RELATION(Open) b, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c WHERE c.Timepoint % 10 = 3) n WHERE a.item_id = b.item_id AND n.t - 5 <= a.TS AND a.TS <= n.t AND n.t - 20 < b.TS AND b.TS + 1 <= n.t;
-- rows are seen before the next point
SELECT r.price FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c WHERE c.Timepoint % 2 = 0) n WHERE n.t - 5 <= r.TS;
-- rows stay for ever
SELECT r.price FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE r.TS + 5 <= n.t;
-- the instant is told
SELECT r.price, n.t FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < r.TS;
-- something else is asked of the instant
SELECT r.price FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < r.TS AND n.t % 2 = 0;
-- the earliest instant
SELECT r.price FROM RELATION(Bid) r, (SELECT MIN(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < r.TS;
-- no row of a stream
SELECT g.label FROM Category g, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < g.item_id;
-- a condition that can fail
SELECT r.price FROM RELATION(Bid) r, (SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c) n WHERE n.t - 5 < r.TS AND CAST(CAST(r.price AS STRING) AS INT) = 3;
