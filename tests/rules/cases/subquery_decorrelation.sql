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
-- a correlated extreme: found for all values at once
SELECT label FROM Category AS c WHERE item_id < (SELECT MAX(price) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id AND b.price > 5);
-- an extreme of the first rows of each value
SELECT label FROM Category AS c WHERE item_id >= (SELECT MIN(t.price) FROM (SELECT price FROM Bid [NOW] AS b WHERE b.item_id = c.item_id ORDER BY price DESC LIMIT 10) AS t);
-- a correlated extreme of rows that are not correlated by equalities alone
SELECT label FROM Category AS c WHERE item_id < (SELECT MAX(price) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id AND b.price > c.item_id);
-- a correlated extreme of what can fail for rows that nobody asks for
SELECT label FROM Category AS c WHERE item_id < (SELECT MAX(price * price) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id);
-- a count of correlated rows, which is 0 of none
SELECT label FROM Category AS c WHERE item_id > (SELECT COUNT(*) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id);
