-- rule (11)
SELECT DISTINCT a, b FROM (SELECT item_id AS a FROM Bid [NOW]) JOIN (SELECT start_price AS b FROM Open) ON a < b;
-- groups are different
SELECT DISTINCT item_id, COUNT(*) FROM Bid [NOW] GROUP BY item_id;
-- a key
SELECT DISTINCT item_id, seller_id FROM Open;
-- twice
SELECT DISTINCT q.a FROM (SELECT DISTINCT item_id AS a FROM Bid [NOW]) AS q;
-- a union of sets
SELECT DISTINCT item_id FROM Bid [NOW] UNION SELECT DISTINCT bidder_id FROM Bid [NOW];
-- an intersection of bags
SELECT DISTINCT q.a FROM (SELECT item_id AS a FROM Bid [NOW] INTERSECT ALL SELECT bidder_id FROM Bid [NOW]) AS q;
-- below a map that hands on all columns
SELECT DISTINCT q.b AS c, q.a AS d FROM (SELECT item_id AS a, price AS b FROM Bid [NOW]) AS q;
-- of what has partners
SELECT DISTINCT q.a FROM (SELECT price AS a FROM Bid [NOW]) AS q SEMI JOIN Person ON q.a = id;
-- duplicates among partners do not matter
SELECT price FROM Bid [NOW] WHERE bidder_id NOT IN (SELECT DISTINCT start_price FROM Open);
-- a difference of bags: what is taken away once may be left
SELECT DISTINCT q.a FROM (SELECT item_id AS a FROM Bid [NOW] EXCEPT ALL SELECT bidder_id FROM Bid [NOW]) AS q;
-- a map that drops columns
SELECT DISTINCT price FROM Bid [NOW];
-- an outer join: without partners there is one row, not none
SELECT DISTINCT a, b FROM (SELECT price AS a FROM Bid [NOW]) LEFT JOIN (SELECT start_price AS b FROM Open) ON a < b;
