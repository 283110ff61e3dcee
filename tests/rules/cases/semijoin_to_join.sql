-- an extreme of the rows of the same key
SELECT label FROM Category AS c WHERE c.item_id > (SELECT MIN(price) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id);
-- one row of a group
SELECT label FROM Category AS c WHERE EXISTS (SELECT 1 FROM (SELECT item_id, COUNT(*) AS n FROM Bid [NOW] GROUP BY item_id) AS g WHERE g.item_id = c.item_id AND g.n > c.item_id);
-- equalities alone
SELECT label FROM Category AS c WHERE EXISTS (SELECT 1 FROM (SELECT item_id, COUNT(*) AS n FROM Bid [NOW] GROUP BY item_id) AS g WHERE g.item_id = c.item_id);
-- several rows may be partners
SELECT label FROM Category AS c WHERE EXISTS (SELECT 1 FROM Bid [NOW] AS b WHERE b.item_id = c.item_id AND b.price > c.item_id);
