-- IN
SELECT label FROM Category WHERE item_id IN (SELECT item_id FROM Close);
-- NOT IN, with NULLs
SELECT label FROM Category WHERE item_id NOT IN (SELECT item_id FROM Close);
-- EXISTS, correlated
SELECT label FROM Category AS c WHERE EXISTS (SELECT 1 FROM Close WHERE Close.item_id = c.item_id);
-- NOT EXISTS
SELECT label FROM Category AS c WHERE NOT EXISTS (SELECT 1 FROM Close WHERE Close.item_id = c.item_id);
-- ANY
SELECT item_id FROM Bid [NOW] WHERE price > ANY (SELECT start_price FROM Open);
-- ALL
SELECT item_id FROM Bid [NOW] WHERE price >= ALL (SELECT start_price FROM Open);
-- a value
SELECT item_id FROM Bid [NOW] WHERE price = (SELECT MAX(price) FROM Bid [RANGE 60]);
-- a value for each row
SELECT label, (SELECT MAX(price) FROM Bid [RANGE 60] AS b WHERE b.item_id = c.item_id) AS m FROM Category AS c;
-- in a disjunction: a mark
SELECT label FROM Category WHERE item_id IN (SELECT item_id FROM Close) OR label = 'x';
-- below an operator on streams
SELECT ISTREAM(label) FROM Category WHERE item_id IN (SELECT item_id FROM Close);
-- no subquery
SELECT label FROM Category WHERE item_id = 5;
